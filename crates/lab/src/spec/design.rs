//! How launches are laid out: `plan.kind`, `plan.parallel`, `plan.padding`, and what the kinds ask of the rest of the plan.

use bystander_model::diagnostic::Diagnostic;

use super::item::Item;
use super::problems::Problems;
use super::table::Table;
use crate::design::williams::blocks_of_cycle;
use crate::plan::{Kind, Lane, Plan, Template};

/// More lanes than this are a slip.
const MOST_LANES: usize = 64;
/// Greater numbers of a GPU are a slip.
const MOST_GPUS: u64 = 1023;
/// Variables that a lane sets.
pub const LANE_VARIABLES: [&str; 3] = ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"];

/// Reads the kind of the plan.
pub(super) fn kind(plan: Option<&Table<'_>>, problems: &mut Problems<'_>) -> Kind {
    const KINDS: [(&str, Kind); 3] = [("blocks", Kind::Blocks), ("williams", Kind::Williams), ("aa", Kind::Aa)];
    plan.and_then(|plan| plan.get("kind")).and_then(|item| item.word(&KINDS, problems)).unwrap_or_default()
}

/// Reads whether environments are padded.
pub(super) fn padding(plan: Option<&Table<'_>>, problems: &mut Problems<'_>) -> bool {
    plan.and_then(|plan| plan.get("padding")).and_then(|item| item.flag(problems)).unwrap_or(true)
}

/// Reads the lanes: a list of lists of GPUs.
pub(super) fn lanes(plan: Option<&Table<'_>>, problems: &mut Problems<'_>) -> Vec<Lane> {
    let Some(item) = plan.and_then(|plan| plan.get("parallel")) else { return Vec::new() };
    let Some(elements) = item.list("lists of GPUs, one for each trial that may run at the same time", problems) else { return Vec::new() };
    if elements.is_empty() || elements.len() > MOST_LANES {
        problems.push(&item.span, item.invalid(&format!("must name 1 to {MOST_LANES} lanes")).help(EXAMPLE));
        return Vec::new();
    }
    let mut lanes: Vec<Lane> = Vec::new();
    for element in &elements {
        let lane = lane(element, problems);
        if let Some(gpu) = lane.gpus.iter().find(|gpu| lanes.iter().any(|other| other.gpus.contains(gpu))) {
            let problem = Diagnostic::error("spec.shared_gpu", format!("GPU {gpu} is in two lanes, whose trials would disturb each other"));
            problems.push(&element.span, problem.help("give every lane GPUs of its own, or leave `parallel` out"));
        }
        lanes.push(lane);
    }
    lanes
}

/// What to write, for help.
const EXAMPLE: &str = "one list of GPUs for each lane: parallel = [[0], [1]]; [[], []] for two lanes that see no GPU";

fn lane(item: &Item<'_>, problems: &mut Problems<'_>) -> Lane {
    let Some(elements) = item.elements() else {
        problems.push(&item.span, item.expected("a list of GPUs").help(EXAMPLE));
        return Lane::default();
    };
    let mut gpus = Vec::new();
    for element in elements {
        let Some(gpu) = element.integer(0..=MOST_GPUS, problems).and_then(|gpu| u32::try_from(gpu).ok()) else { continue };
        if gpus.contains(&gpu) {
            problems.push(&element.span, element.invalid(&format!("names GPU {gpu} twice")));
        } else {
            gpus.push(gpu);
        }
    }
    Lane { gpus }
}

/// Tells what does not go together with the kind and the lanes of the plan.
pub(super) fn check(plan: &Plan, root: &Table<'_>, problems: &mut Problems<'_>) {
    let section = root.get("plan").and_then(|item| item.entries(problems));
    let place = |key: &str| section.as_ref().and_then(|table| table.get(key)).map_or(0..0, |item| item.span);
    if plan.kind == Kind::Williams {
        if plan.lane_count() > 1 {
            let problem = Diagnostic::error(
                "spec.williams_parallel",
                "a Williams design balances what one launch leaves to the next, and in lanes none comes alone after another",
            );
            problems.push(&place("parallel"), problem.help("leave `parallel` out, or write kind = \"blocks\""));
        }
        unbalanced(plan, &place, problems);
    }
    if plan.kind == Kind::Aa && (plan.declared || section.as_ref().is_some_and(|table| table.get("instruments").is_some())) {
        let key = if plan.declared { "cells" } else { "instruments" };
        let problem = Diagnostic::error("spec.aa_cells", "an A/A plan launches the baseline alone, under two labels");
        problems
            .push(&place(key), problem.help(format!("leave `{key}` out; `bystander run --aa FILE` makes an A/A run of any experiment")));
    }
    lane_variables(plan, &place("parallel"), problems);
    lane_port(plan, &place("parallel"), problems);
}

/// Refuses lanes whose programs would all have to listen on one port.
fn lane_port(plan: &Plan, span: &std::ops::Range<usize>, problems: &mut Problems<'_>) {
    let fixed = plan.fixed_ports(None).into_keys().next().filter(|_| plan.lane_count() > 1);
    if let Some(port) = fixed {
        let message = format!("the file fixes port {port}, and in lanes several programs would have to listen there at the same time");
        problems.push(
            span,
            Diagnostic::error("spec.lane_port", message).help("write `{port}`, so that every launch gets a free port of its own"),
        );
    }
}

/// Warns of a Williams design that stops before its rows are through.
fn unbalanced(plan: &Plan, place: &impl Fn(&str) -> std::ops::Range<usize>, problems: &mut Problems<'_>) {
    let cycle = u32::try_from(blocks_of_cycle(plan.cells.len())).unwrap_or(u32::MAX);
    if plan.blocks.max < cycle {
        let message = format!(
            "carry-over is balanced after {cycle} blocks of these {} cells, and at most {} are run",
            plan.cells.len(),
            plan.blocks.max
        );
        let problem = Diagnostic::warning("spec.unbalanced_williams", message);
        problems.push(&place("kind"), problem.help(format!("run {cycle} blocks, or a multiple of them")));
    }
}

/// Refuses variables in the file that the lanes set.
fn lane_variables(plan: &Plan, span: &std::ops::Range<usize>, problems: &mut Problems<'_>) {
    let levels = plan.factors.values().flat_map(|levels| levels.values());
    let set = plan.program.env.keys().chain(levels.flat_map(|level| level.env.keys().chain(&level.unset)));
    let taken = set.into_iter().find(|name| !plan.lanes.is_empty() && LANE_VARIABLES.contains(&name.as_str()));
    if let Some(name) = taken {
        let problem =
            Diagnostic::error("spec.lane_variable", format!("`{name}` is set in the file, and `parallel` sets it for every lane"));
        problems.push(span, problem.help("leave it to `parallel`, or hand `{gpus}` to the program in another way"));
    }
}

/// Warns of a program named relative to a working directory that is empty in every trial.
pub(super) fn check_fresh(plan: &Plan, root: &Table<'_>, problems: &mut Problems<'_>) {
    let Some(program) = plan.program.command.first().filter(|_| plan.program.fresh.cwd) else { return };
    let Template(text) = program;
    if !text.contains('/') || text.starts_with('/') || text.starts_with('{') {
        return;
    }
    let item = root.get("program").and_then(|item| item.entries(problems)).and_then(|table| table.get("command"));
    let problem =
        Diagnostic::error("spec.relative_program", format!("`{text}` is relative to the working directory, which is empty in every trial"));
    problems.push(&item.map_or(0..0, |item| item.span), problem.help(format!("write `{{folder}}/{}`", text.trim_start_matches("./"))));
}
