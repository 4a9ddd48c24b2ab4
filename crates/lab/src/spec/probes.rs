//! `[[probes]]`: places and what to capture there. Whether a place exists is not asked here: the shape of the text is.

use super::instruments::{Declared, declare, spans, tables};
use super::item::Item;
use super::problems::Problems;
use super::schema;
use super::table::Table;
use crate::plan::Probe;

/// Reads every probe that has a name of its own.
pub(super) fn read(root: &Table<'_>, declared: &mut Declared, problems: &mut Problems<'_>) -> Vec<Probe> {
    let tables = tables(root, "probes", schema::PROBE, problems);
    tables.iter().filter_map(|table| probe(table, declared, problems)).collect()
}

fn probe(table: &Table<'_>, declared: &mut Declared, problems: &mut Problems<'_>) -> Option<Probe> {
    let name = declare(table, declared, problems);
    let at = table.require("at", r#"at = "module:function""#, problems).and_then(|item| place(&item, problems));
    let captures = table.get("capture").map(|item| item.texts(problems)).unwrap_or_default();
    let text = |key: &str, problems: &mut Problems<'_>| table.get(key).and_then(|item| item.some_text(problems)).map(str::to_owned);
    let mut spans = spans(table, ["name", "at", "after", "capture", "rank"]);
    spans.extend(captures.iter().enumerate().map(|(index, (item, _))| (format!("capture.{index}"), item.span.clone())));
    let after = text("after", problems);
    let rank = text("rank", problems);
    Some(Probe {
        at: at.unwrap_or_default(),
        after,
        capture: captures.into_iter().map(|(_, expression)| expression).collect(),
        allow_unsafe: table.get("unsafe").and_then(|item| item.flag(problems)).unwrap_or(false),
        limit: table.get("limit").and_then(|item| item.integer(1..=u64::MAX, problems)),
        rank,
        spans,
        name: name?,
    })
}

/// Reads a place: `module:function`, or `path/to/file.py:LINE`.
fn place(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let text = item.some_text(problems)?;
    let Some(fault) = fault_of_place(text) else { return Some(text.to_owned()) };
    problems.push(&item.span, item.invalid(fault).help("write `module:function`, `module:Class.method` or `path/to/file.py:LINE`"));
    None
}

fn fault_of_place(text: &str) -> Option<&'static str> {
    let Some((file, target)) = text.rsplit_once(':') else { return Some("names no function and no line") };
    if file.trim().is_empty() || target.trim().is_empty() {
        return Some("has nothing on one side of its colon");
    }
    if !target.bytes().all(|byte| byte.is_ascii_digit()) {
        let file_with_function = file.ends_with(".py") || file.contains('/');
        return file_with_function.then_some("names a function in a path; a function is named by its module");
    }
    match target.parse::<u32>() {
        Ok(line) if line > 0 => None,
        _ => Some("must name a line from 1"),
    }
}

#[cfg(test)]
mod tests {
    use super::fault_of_place;

    #[test]
    fn places_are_a_module_with_a_function_or_a_file_with_a_line() {
        for place in ["engine.sizing:profile", "m:Class.method", "a/b.py:10", "C:/x.py:1"] {
            assert_eq!(fault_of_place(place), None, "{place}");
        }
        for place in ["engine.sizing", "m:", ":f", "a.py:0", "a.py:99999999999", "a/b.py:f"] {
            assert!(fault_of_place(place).is_some(), "{place}");
        }
    }
}
