//! `workload.traffic.prompt`: what is asked.

use std::path::Path;

use bystander_model::diagnostic::Diagnostic;
use bystander_model::traffic::Prompt;

use super::super::item::Item;
use super::super::problems::Problems;
use super::super::{placeholder, schema};

/// The longest prompt, in words.
const LONGEST: u64 = 10_000_000;
const LIKE: &str = r#"write prompt = { tokens = 512 }, { random = 512, seed = 1 } or { file = "prompts.jsonl" }"#;

/// Reads the prompts; a path is relative to `folder`.
pub(super) fn read(item: &Item<'_>, folder: &Path, problems: &mut Problems<'_>) -> Option<Prompt> {
    if !item.value.is_table() {
        problems.push(&item.span, item.expected("a table that says where prompts come from").help(LIKE));
        return None;
    }
    let table = item.table(schema::PROMPT, problems)?;
    let named: Vec<(&str, Item<'_>)> =
        ["tokens", "random", "file"].into_iter().filter_map(|key| table.get(key).map(|item| (key, item))).collect();
    let (key, source) = match named.as_slice() {
        [(key, item)] => (*key, item),
        [] => {
            let problem = Diagnostic::error("spec.missing_key", format!("{} does not say where prompts come from", table.title()));
            problems.push(&table.span, problem.help(LIKE));
            return None;
        }
        [_, (_, second), ..] => {
            let problem = Diagnostic::error("spec.two_sources", format!("{} names more than one source of prompts", table.title()));
            problems.push(&second.key, problem.help("keep one of `tokens`, `random` and `file`"));
            return None;
        }
    };
    let seed = table.get("seed");
    if let (Some(seed), true) = (&seed, key != "random") {
        let problem = seed.invalid("belongs to `random`: the prompts of a seed of their own are the same in every trial");
        problems.push(&seed.key, problem.help("write { random = 512, seed = 1 }, or set `seed` in [workload.traffic]"));
    }
    if key == "file" {
        return placeholder::path(source, folder, problems).map(|path| Prompt::File { path });
    }
    let tokens = source.integer(1..=LONGEST, problems).and_then(|tokens| u32::try_from(tokens).ok());
    let seed = seed.filter(|_| key == "random").and_then(|item| item.integer(0..=u64::MAX, problems));
    Some(Prompt::Random { tokens: tokens?, seed })
}
