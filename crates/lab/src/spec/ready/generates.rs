//! `program.ready.generates`: a server that must complete a prompt.

use super::super::item::Item;
use super::super::placeholder::template;
use super::super::problems::Problems;
use super::super::schema;
use super::super::table::Table;
use super::address::address;
use crate::plan::{GeneratesReady, Template};

/// Where a server is asked, where the file does not say.
const URL: &str = "http://127.0.0.1:{port}";
/// What a server is to complete, where the file does not say.
const PROMPT: &str = "The capital of France is";

/// Reads `true`, or a table with what is asked of whom.
pub(super) fn read(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<GeneratesReady> {
    if let Some(asked) = item.value.as_bool() {
        if !asked {
            problems.push(&item.span, item.invalid("is no condition when it is `false`").help("leave it out"));
        }
        return asked.then(|| GeneratesReady { url: Template(URL.to_owned()), model: None, prompt: Template(PROMPT.to_owned()) });
    }
    if !item.value.is_table() {
        let problem = item.expected("`true` or a table").help(r#"write generates = true, or generates = { model = "NAME" }"#);
        problems.push(&item.span, problem);
        return None;
    }
    let table = item.table(schema::READY_GENERATES, problems)?;
    let url = match table.get("url") {
        Some(item) => address(&item, problems),
        None => Some(Template(URL.to_owned())),
    };
    let model = text(&table, "model", problems);
    let prompt = text(&table, "prompt", problems);
    Some(GeneratesReady { url: url?, model, prompt: prompt.unwrap_or_else(|| Template(PROMPT.to_owned())) })
}

fn text(table: &Table<'_>, key: &str, problems: &mut Problems<'_>) -> Option<Template> {
    let item = table.get(key)?;
    item.some_text(problems)?;
    template(&item, problems)
}
