//! What can only be seen with the whole file read: instruments that are never put in, a port that nobody is told, nothing to compare.

use bystander_model::diagnostic::Diagnostic;

use super::instruments::Declared;
use super::problems::Problems;
use super::table::Table;
use crate::plan::{Plan, Template};

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
