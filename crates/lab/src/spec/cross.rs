//! What can only be seen with the whole file read: instruments that are never put in, a port that nobody is told, a variable that two factors change,
//! nothing to compare.

use std::ops::Range;

use bystander_model::cell::Cell;
use bystander_model::diagnostic::Diagnostic;

use super::instruments::Declared;
use super::problems::Problems;
use super::table::Table;
use crate::plan::{Level, Plan, Template};

/// Warns of probes and edits that no instrument level holds.
pub(super) fn unused_instruments(plan: &Plan, declared: &Declared, problems: &mut Problems<'_>) {
    let used = |name: &String| plan.instruments.values().any(|names| names.contains(name));
    for (name, span) in declared.iter().filter(|(name, _)| !used(name)) {
        let problem =
            Diagnostic::warning("spec.unused_instrument", format!("`{name}` is declared, and `plan.instruments` does not name it"));
        problems.push(span, problem.label("never put in").help("add it to `plan.instruments`, or take it out"));
    }
}

/// Warns where readiness is asked at a port that the program is never told.
pub(super) fn untold_port(plan: &Plan, root: &Table<'_>, problems: &mut Problems<'_>) {
    let Some(ready) = &plan.program.ready else { return };
    let asked = ready.addresses().chain(&ready.port).any(|text| text.mentions("port"));
    if !asked || told(plan).any(|text| text.mentions("port")) {
        return;
    }
    let Some(item) = root.get("program").and_then(|item| item.entries(problems)).and_then(|table| table.get("ready")) else { return };
    let problem = Diagnostic::warning("spec.untold_port", "`{port}` is asked here, and the program is never told it");
    problems.push(&item.span, problem.help("give `{port}` to the program in its command or environment"));
}

/// Every text that reaches the program.
fn told(plan: &Plan) -> impl Iterator<Item = &Template> {
    let levels = plan.factors.values().flat_map(|levels| levels.values());
    let varied = levels.flat_map(|level| level.args.iter().chain(level.env.values()));
    plan.program.command.iter().chain(plan.program.env.values()).chain(varied)
}

/// Refuses a variable that levels of two factors change to different ends in one cell: only one of the two would reach the program, and what is found of
/// the other would be found of nothing.
pub(super) fn contended_variables(plan: &Plan, root: &Table<'_>, problems: &mut Problems<'_>) {
    let factors: Vec<&String> = plan.factors.keys().collect();
    for (index, other) in factors.iter().enumerate() {
        for factor in &factors[..index] {
            if let Some(contended) = contended(plan, factor, other) {
                let place = place_of(root, other, contended.levels.1, problems);
                problems.push(&place, contended.told(factor, other));
            }
        }
    }
}

/// A variable that two levels change to different ends, and that some cell needs both of.
struct Contended<'a> {
    variable: &'a str,
    levels: (&'a str, &'a str),
    does: (&'static str, &'static str),
}

impl Contended<'_> {
    fn told(&self, factor: &str, other: &str) -> Diagnostic {
        let (one, two) = (format!("`{factor}={}`", self.levels.0), format!("`{other}={}`", self.levels.1));
        let message =
            format!("{one} {} `{}` and {two} {} it, so that only one of them reaches the program", self.does.0, self.variable, self.does.1);
        Diagnostic::error("spec.contended_variable", message)
            .help("leave the variable to one factor, or declare `cells` in [plan] in which the two levels do not meet")
    }
}

fn contended<'a>(plan: &'a Plan, factor: &str, other: &str) -> Option<Contended<'a>> {
    let at = |cell: &'a Cell, factor: &str| {
        let name = cell.levels.get(factor)?;
        Some((name.as_str(), plan.factors.get(factor)?.get(name)?))
    };
    plan.cells.iter().find_map(|cell| {
        let ((one, first), (two, second)) = (at(cell, factor)?, at(cell, other)?);
        let changed = first.env.keys().chain(&first.unset);
        changed.into_iter().find_map(|variable| {
            let (mine, theirs) = (end(first, variable)?, end(second, variable)?);
            let does = |value: Option<&Template>| if value.is_some() { "sets" } else { "removes" };
            (mine != theirs).then(|| Contended { variable, levels: (one, two), does: (does(mine), does(theirs)) })
        })
    })
}

/// What a level makes of a variable: a value, or `Some(None)` where it removes it.
fn end<'a>(level: &'a Level, variable: &str) -> Option<Option<&'a Template>> {
    match level.env.get(variable) {
        Some(value) => Some(Some(value)),
        None => level.unset.iter().any(|name| name == variable).then_some(None),
    }
}

/// Where a level stands in the file.
fn place_of(root: &Table<'_>, factor: &str, level: &str, problems: &mut Problems<'_>) -> Range<usize> {
    let factors = root.get("factors").and_then(|item| item.entries(problems));
    let levels = factors.and_then(|table| table.get(factor)).and_then(|item| item.entries(problems));
    levels.and_then(|table| table.get(level)).map_or(0..0, |item| item.key)
}

/// Refuses a plan of one cell that does not say that it only describes.
pub(super) fn nothing_to_compare(plan: &Plan, root: &Table<'_>, problems: &mut Problems<'_>) {
    // What is declared with a fault is told of where it stands.
    let declared = ["factors", "probes", "edits"].iter().any(|key| root.get(key).is_some());
    if plan.cells.len() > 1 || plan.describe || (declared && problems.refuse()) {
        return;
    }
    let span = root.get("plan").map_or(0..0, |item| item.span);
    let problem = Diagnostic::error("spec.nothing_to_compare", "the plan has one cell, and so nothing to compare");
    problems.push(&span, problem.help("add a factor or an instrument, or write `describe = true` in [plan] to describe one cell"));
}
