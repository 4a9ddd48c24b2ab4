//! Whether the plan can reach its level: what complete separation would need, and where the looks end.
//!
//! Each contrast is of two cells with one launch per block; which there are, and the level of each, is decided in `contrast`, and the tests are
//! those of `stats` and `design`.

use bystander_model::diagnostic::{Diagnostic, Severity};

use super::layout::DEFAULT_BLOCKS;
use super::metrics::OUTCOME;
use super::nearest::names;
use super::problems::Problems;
use super::table::Table;
use crate::contrast::{Subject, contrasts};
use crate::design::reach::blocks_needed;
use crate::looks::anytime::AnytimeRule;
use crate::plan::{Blocks, Plan, Rule};
use crate::stats::StatsError;
use crate::stats::peeking::cap;

/// No level that a plan gives to a contrast has a lower cap than the undivided one, [`crate::contrast::ALPHA`].
const LOWEST_CAP: u32 = 10;
/// The fewest launches per cell from which a metric has an interval.
const METRIC_BLOCKS: u32 = 2;

/// Contrasts that share one level.
#[derive(Debug)]
struct Group {
    about: Vec<String>,
    alpha: f64,
    /// Whether these are comparisons beside others of the same subject, which can be answered without them.
    beside: bool,
}

impl Group {
    /// Their names, and where they are compared.
    fn said(&self) -> String {
        let names = names(self.about.iter().map(String::as_str));
        if self.beside { format!("{names} beside other levels") } else { names }
    }
}

/// Tells the problems of power at the place of the blocks.
pub(super) fn tell(plan: &Plan, root: &Table<'_>, problems: &mut Problems<'_>) {
    let section = root.get("plan");
    let blocks = section.as_ref().and_then(|item| item.entries(problems)).and_then(|table| table.get("blocks"));
    let span = blocks.or(section).map_or(0..0, |item| item.span);
    for problem in check_power(plan) {
        problems.push(&span, problem);
    }
}

/// Checks that a plan which promises an answer can give one; places are for the caller to add.
///
/// Too few blocks for an answer about outcomes refuse the plan, or are warned of where a metric is the primary answer. More blocks than are
/// looked at are warned of.
pub(super) fn check_power(plan: &Plan) -> Vec<Diagnostic> {
    if plan.describe {
        return Vec::new();
    }
    let (beside, main): (Vec<Group>, Vec<Group>) = groups(plan).into_iter().partition(|group| group.beside);
    let missed = |groups: &[Group]| groups.iter().filter_map(|group| unattainable(plan, group).transpose()).map(told).collect::<Vec<_>>();
    let mut found = missed(&main);
    // What is asked beside a question that has no answer needs no word of its own.
    if found.is_empty() {
        found = missed(&beside);
    }
    if plan.primary != OUTCOME {
        for problem in &mut found {
            problem.severity = Severity::Warning;
        }
        found.extend((plan.blocks.max < METRIC_BLOCKS).then(|| metric_without_spread(plan)));
        found.extend(plan.blocks.is_open().then(|| metric_without_end(plan)));
    }
    if plan.rule == Rule::Fisher && plan.blocks.max > LOWEST_CAP {
        found.extend(main.iter().filter_map(|group| beyond_cap(plan, group).transpose()).map(told));
    }
    found
}

/// A problem, or why it could not be computed, which is a problem too.
fn told(problem: Result<Diagnostic, StatsError>) -> Diagnostic {
    problem.unwrap_or_else(|error| Diagnostic::error("spec.cannot_reach", format!("failed to {error}")))
}

/// The contrasts of the plan by level, with the names of their factors and instruments.
fn groups(plan: &Plan) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for contrast in contrasts(plan) {
        let (alpha, beside) = (contrast.alpha, contrast.is_beside(plan));
        let name = match contrast.subject {
            Subject::Factor { factor: name, .. } | Subject::Instrument { instrument: name } => name,
            Subject::Combination => contrast.levels(),
        };
        // The same division of the same number gives the same bits.
        match groups.iter_mut().find(|group| group.beside == beside && group.alpha.to_bits() == alpha.to_bits()) {
            Some(group) if group.about.contains(&name) => {}
            Some(group) => group.about.push(name),
            None => groups.push(Group { about: vec![name], alpha, beside }),
        }
    }
    groups
}

fn unattainable(plan: &Plan, group: &Group) -> Result<Option<Diagnostic>, StatsError> {
    let needed = match plan.rule {
        Rule::Fisher => blocks_needed(group.alpha)?,
        Rule::EValue => AnytimeRule::new(group.alpha, plan.blocks.max)?.blocks_needed().unwrap_or(u32::MAX),
    };
    let allowed = plan.blocks.max;
    if needed <= allowed {
        return Ok(None);
    }
    let about = group.said();
    let message = format!("the plan cannot answer for {about}: that needs {needed} blocks, and at most {allowed} are run");
    let problem = Diagnostic::error("spec.cannot_reach", message);
    let problem = if group.beside { Diagnostic { severity: Severity::Warning, ..problem } } else { problem };
    let why = format!(
        "at its level of {:.4}, even a cell that fails in every launch against one that never fails needs {needed} launches of each",
        group.alpha
    );
    let Blocks { min, max } = DEFAULT_BLOCKS;
    let more = format!("`blocks = {{ min = {min}, max = {} }}`", max.max(needed));
    let help = format!("write {more}, or `describe = true` to launch without a verdict");
    Ok(Some(problem.note(why).help(help)))
}

fn metric_without_spread(plan: &Plan) -> Diagnostic {
    let message = format!("the plan cannot answer for `{}`: one launch of each cell has no spread", plan.primary);
    Diagnostic::error("spec.cannot_reach", message).help("run at least 2 blocks, or write `describe = true` to launch without a verdict")
}

fn metric_without_end(plan: &Plan) -> Diagnostic {
    let message = format!("a run whose primary answer is `{}` needs a last block: metrics never stop a run", plan.primary);
    Diagnostic::error("spec.no_last_block", message).help("write `blocks = { min = 4, max = 10 }`, or `primary = \"outcome\"`")
}

fn beyond_cap(plan: &Plan, group: &Group) -> Result<Option<Diagnostic>, StatsError> {
    let cap = cap(group.alpha)?;
    if plan.blocks.max <= cap {
        return Ok(None);
    }
    let about = group.said();
    let message = format!("outcomes of {about} are looked at until block {cap} of {}", plan.blocks.max);
    let why = format!("looking after every block keeps false positives at the level of {:.4} for {cap} blocks, and no longer", group.alpha);
    Ok(Some(Diagnostic::warning("spec.blocks_beyond_looks", message).note(why)))
}
