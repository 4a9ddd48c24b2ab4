//! `[[edits]]`: what to find in a file and what to do with it. Whether the text is there is not asked here.

use std::path::Path;

use bystander_model::diagnostic::Diagnostic;
use bystander_model::probe::Delivery;

use super::instruments::{Declared, declare, spans, tables};
use super::item::Item;
use super::nearest::choices;
use super::problems::Problems;
use super::table::Table;
use super::{placeholder, schema};
use crate::plan::{Edit, EditAction};

/// Makes what an edit does from its text.
type Make = fn(String) -> EditAction;

/// What an edit can do, as keys with their meaning.
const ACTIONS: [(&str, Make); 3] =
    [("insert_after", EditAction::InsertAfter), ("insert_before", EditAction::InsertBefore), ("replace", EditAction::Replace)];

/// How an edit can get in: an overlay rewrites what Python imports, and edits are of any text.
const DELIVERIES: [(&str, Delivery); 3] = [("auto", Delivery::Auto), ("mount", Delivery::Mount), ("patch", Delivery::Patch)];

/// Reads every edit that has a name of its own; relative files are relative to `folder`.
pub(super) fn read(root: &Table<'_>, folder: &Path, declared: &mut Declared, problems: &mut Problems<'_>) -> Vec<Edit> {
    let tables = tables(root, "edits", schema::EDIT, problems);
    tables.iter().filter_map(|table| edit(table, folder, declared, problems)).collect()
}

fn edit(table: &Table<'_>, folder: &Path, declared: &mut Declared, problems: &mut Problems<'_>) -> Option<Edit> {
    let name = declare(table, declared, problems);
    let file = table.require("file", r#"file = "path/to/file.py""#, problems);
    let file = file.and_then(|item| placeholder::path(&item, folder, problems));
    let find = table.require("find", r#"find = "the text, exactly""#, problems).and_then(|item| item.some_text(problems));
    let action = action(table, find, problems);
    let mut spans = spans(table, ["name", "file", "find", "sha256", "allow_undefined"]);
    spans.extend(action.as_ref().map(|(item, _)| (String::from("text"), item.span.clone())));
    let allowed = table.get("allow_undefined").map(|item| item.texts(problems)).unwrap_or_default();
    let delivery = table.get("delivery").and_then(|item| item.word(&DELIVERIES, problems)).unwrap_or_default();
    let sha256 = table.get("sha256").and_then(|item| digest(&item, problems));
    Some(Edit {
        name: name?,
        file: file.unwrap_or_default(),
        find: find.unwrap_or_default().to_owned(),
        action: action.map_or_else(|| EditAction::Replace(String::new()), |(_, action)| action),
        sha256,
        allow_undefined: allowed.into_iter().map(|(_, name)| name).collect(),
        delivery,
        spans,
    })
}

/// Reads the one thing that an edit does.
fn action<'a>(table: &Table<'a>, find: Option<&str>, problems: &mut Problems<'_>) -> Option<(Item<'a>, EditAction)> {
    let named: Vec<_> = ACTIONS.iter().filter_map(|(key, make)| table.get(key).map(|item| (*key, item, make))).collect();
    let all = || choices(ACTIONS.iter().map(|(key, _)| *key));
    let (key, item, make) = match named.as_slice() {
        [one] => one,
        [] => {
            let problem = Diagnostic::error("spec.missing_key", "this edit does nothing with the text it finds");
            problems.push(&table.span, problem.help(format!("add {}", all())));
            return None;
        }
        [_, second, ..] => {
            let problem = Diagnostic::error("spec.two_actions", "this edit does more than one thing");
            problems.push(&second.1.key, problem.help(format!("keep one of {}", all())));
            return None;
        }
    };
    let text = item.text(problems)?;
    if *key != "replace" && text.is_empty() {
        problems.push(&item.span, item.invalid("is empty, and so changes nothing"));
    }
    if *key == "replace" && find == Some(text) {
        problems.push(&item.span, item.invalid("is the text that it replaces, and so changes nothing"));
    }
    Some((item.clone(), make(text.to_owned())))
}

/// Reads a SHA-256 in hex, into small letters.
fn digest(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let text = item.text(problems)?;
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some(text.to_ascii_lowercase());
    }
    problems.push(&item.span, item.invalid("must be 64 hexadecimal digits").help("`sha256sum FILE` prints them"));
    None
}
