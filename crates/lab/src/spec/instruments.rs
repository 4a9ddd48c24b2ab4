//! The names of `[[probes]]` and `[[edits]]`, which share one list.

use std::ops::Range;

use bystander_model::cell::NO_INSTRUMENT;
use bystander_model::diagnostic::Diagnostic;
use indexmap::IndexMap;

use super::name;
use super::problems::Problems;
use super::table::Table;

/// Declared instruments by name, with the place of the name.
pub(super) type Declared = IndexMap<String, Range<usize>>;

/// The tables of `[[probes]]` or `[[edits]]`, unknown keys refused.
pub(super) fn tables<'a>(root: &Table<'a>, key: &str, keys: &'static [&'static str], problems: &mut Problems<'_>) -> Vec<Table<'a>> {
    let Some(item) = root.get(key) else { return Vec::new() };
    let Some(elements) = item.elements() else {
        problems.push(&item.span, item.expected("a list of tables").help(format!("write `[[{key}]]`")));
        return Vec::new();
    };
    elements.iter().filter_map(|element| element.table(keys, problems)).collect()
}

/// Reads and registers the name of an instrument; `None` where it has none of its own.
pub(super) fn declare(table: &Table<'_>, declared: &mut Declared, problems: &mut Problems<'_>) -> Option<String> {
    let item = table.require("name", r#"name = "a-name""#, problems)?;
    let text = item.text(problems)?;
    name::check(text, "probe or edit", &item.span, problems);
    if text == NO_INSTRUMENT {
        let problem = Diagnostic::error("spec.reserved_name", "`none` is the instrument that means: nothing is put in");
        problems.push(&item.span, problem.help("give it another name"));
        return None;
    }
    if let Some(first) = declared.get(text) {
        let problem = Diagnostic::error("spec.duplicate_name", format!("the name `{text}` is taken by another probe or edit"));
        let line = problems.line(first.start);
        problems.push(&item.span, problem.note(format!("the first is on line {line}")).help("probes and edits share one list of names"));
        return None;
    }
    declared.insert(text.to_owned(), item.span.clone());
    Some(text.to_owned())
}

/// The places of the keys of an instrument that stand in the file.
pub(super) fn spans<'k>(table: &Table<'_>, keys: impl IntoIterator<Item = &'k str>) -> IndexMap<String, Range<usize>> {
    keys.into_iter().filter_map(|key| table.get(key).map(|item| (key.to_owned(), item.span))).collect()
}
