//! The plan as people read it before a run, and what two trials differ in.

use std::time::Duration;

use bystander_lab::ledger::{Ledger, TrialRecord};
use bystander_lab::place::Checkup;
use bystander_lab::plan::{Expect, HookCommand, Kind, Lane, Plan, Ready};
use bystander_lab::provenance::Difference;
use bystander_lab::step::VOIDS_THAT_END;
use bystander_model::FORMAT;
use bystander_model::ids::RunId;
use bystander_model::printed::DryRun;
use bystander_report::count;

use super::text::span;

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

/// Launches if every block is run; `None` where there is no last one.
fn launches(plan: &Plan) -> Option<usize> {
    (!plan.blocks.is_open()).then(|| plan.cells.len() * plan.blocks.max as usize)
}

/// `up to 60: 6 cells × 4 to 10 blocks`, or that there is no end.
fn launches_said(plan: &Plan) -> String {
    let (cells, min) = (count(plan.cells.len(), "cell", "cells"), plan.blocks.min);
    match launches(plan) {
        Some(launches) if min == plan.blocks.max => format!("{launches}: {cells} × {}", count(min as usize, "block", "blocks")),
        Some(launches) => format!("up to {launches}: {cells} × {min} to {} blocks", plan.blocks.max),
        None => format!("open-ended: {cells} × {} or more, until it is decided or stopped", count(min as usize, "block", "blocks")),
    }
}

/// The plan in full, as a dry run prints it.
pub(super) fn text(plan: &Plan, checkup: &Checkup, power: &[String]) -> String {
    let question = question(plan);
    format!("{question}{}\n{}\nnothing was launched and nothing was written\n", body(plan, checkup, power), retries())
}

/// The rule by which launches are made again, which is fixed before the first.
fn retries() -> String {
    format!(
        "again     a launch that is void (contaminated) or lost by bystander is no data point, and is made again in the same\n          \
         place of its block; {VOIDS_THAT_END} of them in one place end the run as invalid. What failed or timed out by itself counts,\n          \
         and is never made again"
    )
}

/// What is compared, where the instruments sit, and what the plan can and cannot decide.
pub(super) fn body(plan: &Plan, checkup: &Checkup, power: &[String]) -> String {
    let command: Vec<&str> = plan.program.command.iter().map(|word| word.0.as_str()).collect();
    let mut lines = vec![
        format!("program   {}", command.join(" ")),
        format!("          in {}, at most {} a launch", plan.program.cwd.display(), limit(plan.program.timeout)),
        format!("cells     {}", cells(plan)),
        format!("launches  {}, {}{}", launches_said(plan), order(plan), gate(plan)),
    ];
    lines.extend(surroundings(plan));
    let ready = plan.program.ready.iter().flat_map(Ready::words);
    lines.splice(2..2, ready.map(|words| format!("ready     {words}")));
    lines.extend(treatments(plan));
    lines.extend(checkup.placed.iter().filter(|(name, _)| put_in(plan, name)).map(|(name, place)| format!("{name:8}  {place}")));
    lines.extend(plan.left_out.iter().map(|(name, why)| format!("left out  {name}: {why}")));
    lines.extend(power.iter().map(|sentence| format!("decides   {sentence}")));
    lines.join("\n")
}

/// Whether some level holds a probe or an edit: what all of its levels were left out with is not put in.
fn put_in(plan: &Plan, name: &str) -> bool {
    plan.instruments.values().flatten().any(|held| held == name)
}

/// A limit as people write one: without the zeros of whole minutes and hours.
fn limit(limit: Duration) -> String {
    let said = span(limit.as_secs_f64());
    said.trim_end_matches(" 00 s").trim_end_matches(" 00 min").to_owned()
}

/// Every cell, the one that the others are compared with first.
fn cells(plan: &Plan) -> String {
    let others: Vec<String> = plan.cells.iter().filter(|cell| **cell != plan.baseline).map(ToString::to_string).collect();
    if others.is_empty() {
        return format!("{}, by itself: there is nothing to compare", plan.baseline);
    }
    format!("{} (the baseline)  {}", plan.baseline, others.join("  "))
}

/// The order within blocks, by the kind of the plan.
fn order(plan: &Plan) -> &'static str {
    match plan.kind {
        Kind::Blocks => "in random order within each",
        Kind::Williams => "each a row of a Williams design, which balances what one launch leaves to the next",
        Kind::Aa => "the same cell under two labels, in random order within each",
    }
}

/// What launches have around them: lanes, directories, caches, commands.
fn surroundings(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    if !plan.lanes.is_empty() {
        let lane = |lane: &Lane| match lane.gpus.as_slice() {
            [] => "no GPU".to_owned(),
            gpus => format!("GPU {}", gpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        };
        let each: Vec<String> = plan.lanes.iter().map(lane).collect();
        lines.push(format!("lanes     {} at the same time, of one block: {}", each.len(), each.join(" | ")));
    }
    let fresh = plan.program.fresh;
    let cwd = if fresh.cwd { "an empty working directory of its own" } else { "the working directory, shared" };
    let cache = if fresh.cache { "empty caches of its own" } else { "caches that all launches share" };
    lines.push(format!("each has  {cwd}; {cache}{}", if plan.padding { "; an environment of random size" } else { "" }));
    for (name, commands) in plan.hooks.all() {
        let said = |command: &HookCommand| command.argv.iter().map(|word| word.0.as_str()).collect::<Vec<_>>().join(" ");
        lines.push(format!("{name:9} {}", commands.iter().map(said).collect::<Vec<_>>().join("; ")));
    }
    lines
}

/// By what each level is seen in the program.
fn treatments(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (factor, levels) in &plan.factors {
        for (level, treatment) in levels.iter().filter_map(|(name, level)| Some((name, level.treatment.as_ref()?))) {
            let log = treatment.log.as_ref().map(|pattern| format!("a line matches `{pattern}`"));
            let configuration = treatment.configuration.as_ref().map(|pattern| format!("the printed configuration matches `{pattern}`"));
            let seen: Vec<String> = log.into_iter().chain(configuration).collect();
            lines.push(format!("visible   {factor}={level}: {}, and in no trial of another level", seen.join(", and ")));
        }
    }
    lines
}

fn gate(plan: &Plan) -> String {
    match plan.expect {
        Expect::Any => String::new(),
        Expect::Completed => " + 2 that check that the baseline completes".to_owned(),
        Expect::Failed => " + 2 that check that the baseline fails".to_owned(),
    }
}

pub(super) fn dry_run(plan: &Plan, checkup: &Checkup, power: &[String]) -> DryRun {
    DryRun {
        format: FORMAT,
        plan: serde_json::to_value(plan).unwrap_or_default(),
        launches: launches(plan).map(|launches| launches as u64),
        tries: VOIDS_THAT_END as u64,
        placed: checkup.placed.iter().filter(|(name, _)| put_in(plan, name)).map(|(name, place)| (name.clone(), place.clone())).collect(),
        power: power.to_vec(),
    }
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
