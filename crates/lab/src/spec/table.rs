//! One table of the file: its keys by name, the missing ones and the unknown ones.

use std::ops::Range;

use bystander_model::diagnostic::Diagnostic;
use toml::de::DeTable;

use super::item::Item;
use super::nearest::{names, nearest};
use super::problems::Problems;
use super::schema;

/// A table with its place and its path.
#[derive(Debug, Clone)]
pub(super) struct Table<'a> {
    /// The path, for messages; empty for the file itself.
    pub(super) path: String,
    /// Where the table stands: its header, or its braces.
    pub(super) span: Range<usize>,
    /// What it holds.
    pub(super) table: &'a DeTable<'a>,
    /// Its valid keys; none where its keys are names.
    pub(super) valid: &'static [&'static str],
}

impl<'a> Table<'a> {
    /// What people call this table.
    pub(super) fn title(&self) -> String {
        let list = self.path.split('[').next().unwrap_or_default();
        match self.path.as_str() {
            "" => String::from("the experiment file"),
            path if path.contains('.') => format!("`{path}`"),
            path if path.contains('[') => format!("`[[{list}]]`"),
            path => format!("`[{path}]`"),
        }
    }

    /// The value of a key, where there is one.
    pub(super) fn get(&self, key: &str) -> Option<Item<'a>> {
        let (name, value) = self.table.get_key_value(key)?;
        Some(Item { path: self.path_of(key), key: name.span(), span: value.span(), value: value.get_ref() })
    }

    /// The value of a key that must be there. A key that is there with a slip is told as unknown, and not also as missing.
    pub(super) fn require(&self, key: &str, example: &str, problems: &mut Problems<'_>) -> Option<Item<'a>> {
        let item = self.get(key);
        let slip = |(other, _): (&str, Item<'_>)| !self.valid.contains(&other) && nearest(other, self.valid.iter().copied()) == Some(key);
        if item.is_none() && !self.items().any(slip) {
            let problem = Diagnostic::error("spec.missing_key", format!("`{key}` is missing in {}", self.title()));
            problems.push(&self.span, problem.help(format!("add `{example}`")));
        }
        item
    }

    /// Every key with its value, in the order of the file.
    pub(super) fn items(&self) -> impl Iterator<Item = (&'a str, Item<'a>)> + use<'a> {
        let (table, path) = (self.table, self.path.clone());
        table.iter().map(move |(name, value)| {
            let key: &'a str = name.get_ref();
            let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            (key, Item { path, key: name.span(), span: value.span(), value: value.get_ref() })
        })
    }

    /// Refuses keys that are not valid here, with the nearest valid one.
    pub(super) fn refuse_unknown(&self, problems: &mut Problems<'_>) {
        let valid = self.valid;
        for (key, item) in self.items().filter(|(key, _)| !valid.contains(key)) {
            let problem = Diagnostic::error("spec.unknown_key", format!("unknown key `{key}` in {}", self.title()));
            let all = format!("valid keys here are {}", names(valid.iter().copied()));
            let problem = match (nearest(key, valid.iter().copied()), schema::home_of(key)) {
                (Some(near), _) => problem.help(format!("did you mean `{near}`?")),
                (None, Some(home)) => problem.note(all).help(format!("`{key}` belongs {home}")),
                (None, None) => problem.help(all),
            };
            problems.push(&item.key, problem.label("not a key of this table"));
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}
