//! `treatment` of a level: by what it is seen in the program that the level was applied.

use super::item::Item;
use super::problems::Problems;
use super::{pattern, schema};
use crate::plan::Treatment;

/// Reads it; at least one way to see it must be named.
pub(super) fn read(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Treatment> {
    let example = r"write treatment = { log = 'custom all-reduce is on' }, or { configuration = 'disable_custom_all_reduce=False' }";
    if !item.value.is_table() {
        problems.push(&item.span, item.expected("a table").help(example));
        return None;
    }
    let table = item.table(schema::TREATMENT, problems)?;
    if table.table.is_empty() {
        problems.push(&item.span, item.invalid("names nothing to be seen").help(example));
        return None;
    }
    let seen = |key: &str, problems: &mut Problems<'_>| table.get(key).and_then(|item| one(&item, problems));
    Some(Treatment { log: seen("log", problems), configuration: seen("configuration", problems) })
}

fn one(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let pattern = pattern::read(item, problems)?;
    if pattern.is_match("") {
        problems.push(&item.span, item.invalid("matches an empty text, so that it would be seen in every trial"));
        return None;
    }
    Some(pattern.as_str().to_owned())
}
