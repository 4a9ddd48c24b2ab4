//! The plan as people read it before a run, and what two trials differ in.

use bystander_lab::ledger::{Ledger, TrialRecord};
use bystander_lab::place::Checkup;
use bystander_lab::plan::{Expect, Plan};
use bystander_lab::provenance::Difference;
use bystander_model::FORMAT;
use bystander_model::ids::RunId;
use serde_json::{Value, json};

/// One line about a run that begins or goes on.
pub(super) fn headline(plan: &Plan, run: &RunId, resumed: Option<&Ledger>) -> String {
    let question = question(plan);
    match resumed {
        Some(ledger) => format!("{question}run {run}, taken up after trial {}", ledger.trials.len()),
        None => format!("{question}run {run}"),
    }
}

/// The question in a line of its own, without control characters.
fn question(plan: &Plan) -> String {
    plan.question.as_ref().map_or_else(String::new, |question| question.chars().filter(|c| !c.is_control()).collect::<String>() + "\n")
}

fn launches(plan: &Plan) -> usize {
    plan.cells.len() * plan.blocks.max as usize
}

/// The plan in full, as a dry run prints it.
pub(super) fn text(plan: &Plan, checkup: &Checkup, power: &[String]) -> String {
    let question = question(plan);
    format!("{question}{}\nnothing was launched and nothing was written\n", body(plan, checkup, power))
}

/// What is compared, where the instruments sit, and what the plan can and cannot decide.
pub(super) fn body(plan: &Plan, checkup: &Checkup, power: &[String]) -> String {
    let command: Vec<&str> = plan.program.command.iter().map(|word| word.0.as_str()).collect();
    let cells: Vec<String> = plan.cells.iter().map(ToString::to_string).collect();
    let mut lines = vec![
        format!("program   {}", command.join(" ")),
        format!("          in {}, at most {:.0} s a launch", plan.program.cwd.display(), plan.program.timeout.as_secs_f64()),
        format!("cells     {}, each compared with {}", cells.join("  "), plan.baseline),
        format!(
            "launches  up to {}: {} cells × {} to {} blocks, in random order within each{}",
            launches(plan),
            cells.len(),
            plan.blocks.min,
            plan.blocks.max,
            gate(plan)
        ),
    ];
    lines.extend(
        checkup.placed.iter().filter(|(name, _)| !plan.left_out.contains_key(*name)).map(|(name, place)| format!("{name:9} {place}")),
    );
    lines.extend(plan.left_out.iter().map(|(name, why)| format!("left out  {name}: {why}")));
    lines.extend(power.iter().map(|sentence| format!("decides   {sentence}")));
    lines.join("\n")
}

fn gate(plan: &Plan) -> String {
    match plan.expect {
        Expect::Any => String::new(),
        Expect::Completed => " + 2 that check that the baseline completes".to_owned(),
        Expect::Failed => " + 2 that check that the baseline fails".to_owned(),
    }
}

pub(super) fn json(plan: &Plan, checkup: &Checkup, power: &[String]) -> Value {
    json!({ "format": FORMAT, "plan": plan, "launches": launches(plan), "placed": checkup.placed, "power": power })
}

/// What two trials differ in: first what nobody asked for.
pub(super) fn differences(first: &TrialRecord, second: &TrialRecord, differences: &[Difference]) -> String {
    let mut text = format!("trial {} ({}) and trial {} ({})\n", first.id, first.slot.cell, second.id, second.slot.cell);
    let of = |planned: bool| differences.iter().filter(move |difference| difference.planned == planned);
    for (title, planned) in [("not asked for by any level or instrument", false), ("as planned", true)] {
        let mut found = of(planned).peekable();
        if found.peek().is_none() {
            text.push_str(&format!("{title}: nothing\n"));
            continue;
        }
        text.push_str(&format!("{title}:\n"));
        for difference in found {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
            text.push_str(&format!(
                "  {}\n    {}: {}\n    {}: {}\n",
                difference.what,
                first.id,
                shown(&difference.first),
                second.id,
                shown(&difference.second)
            ));
        }
    }
    text
}
