//! `[factors.NAME]`: what is varied, and what each level changes.

use bystander_model::diagnostic::Diagnostic;
use indexmap::IndexMap;

use super::command::{environment, templates, variables};
use super::item::Item;
use super::problems::Problems;
use super::table::Table;
use super::{name, schema, treatment};
use crate::plan::Level;

/// The factor that instruments are the levels of.
pub(super) const INSTRUMENT: &str = "instrument";

/// Factors with their levels, in the order of the file.
pub(super) type Factors = IndexMap<String, IndexMap<String, Level>>;

/// Reads every factor; a name that is declared is kept even where its levels are refused, so that nothing else is blamed for it.
pub(super) fn read(root: &Table<'_>, problems: &mut Problems<'_>) -> Factors {
    let Some(table) = root.get("factors").and_then(|item| item.entries(problems)) else { return Factors::new() };
    let mut factors = Factors::new();
    for (name, item) in table.items() {
        name::check(name, "factor", &item.key, problems);
        if name == INSTRUMENT {
            let problem = Diagnostic::error("spec.reserved_name", "`instrument` is the factor that probes and edits are the levels of");
            problems.push(&item.key, problem.help("give this factor another name"));
        }
        factors.insert(name.to_owned(), factor(name, &item, problems));
    }
    factors
}

fn factor(name: &str, item: &Item<'_>, problems: &mut Problems<'_>) -> IndexMap<String, Level> {
    let Some(table) = item.entries(problems) else { return IndexMap::new() };
    let mut levels = IndexMap::<String, Level>::new();
    for (name, item) in table.items() {
        name::check(name, "level", &item.key, problems);
        let level = level(&item, problems);
        if let Some(level) = &level
            && let Some((twin, _)) = levels.iter().find(|(_, other)| other.changes_the_same(level))
        {
            let message = format!("the levels `{twin}` and `{name}` are the same");
            problems.push(&item.key, Diagnostic::warning("spec.same_levels", message));
        }
        levels.insert(name.to_owned(), level.unwrap_or_default());
    }
    if levels.len() < 2 {
        let found = if levels.is_empty() { "no level" } else { "one level" };
        let problem = Diagnostic::error("spec.one_level", format!("the factor `{name}` has {found}, and so nothing to compare"));
        problems.push(&item.key, problem.help("add the other level; one that changes nothing is written `plain = {}`"));
    }
    levels
}

fn level(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Level> {
    if !item.value.is_table() {
        let help = r#"write what the level changes: { args = ["--flag"], env = { NAME = "value" }, unset = ["NAME"] }"#;
        problems.push(&item.span, item.expected("a table").help(help));
        return None;
    }
    let table = item.table(schema::LEVEL, problems)?;
    let level = Level {
        args: table.get("args").map(|item| templates(&item, problems)).unwrap_or_default(),
        env: table.get("env").map(|item| environment(&item, problems)).unwrap_or_default(),
        unset: table.get("unset").map(|item| variables(&item, problems)).unwrap_or_default(),
        treatment: table.get("treatment").and_then(|item| treatment::read(&item, problems)),
    };
    if let (Some(item), Some(both)) = (table.get("unset"), level.unset.iter().find(|name| level.env.contains_key(*name))) {
        problems.push(&item.span, item.invalid(&format!("removes `{both}`, which `env` of the same level sets")));
    }
    Some(level)
}
