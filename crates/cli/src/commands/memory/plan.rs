//! `bystander memory plan`: what a model needs on given cards, before a start.

mod model;
mod typed;
mod weights;

use std::process::ExitCode;

use bystander_memory::plan::launch::Launch;
use bystander_memory::plan::{Question, plan};

use crate::args::MemoryPlanArgs;
use crate::failure::{Failure, exit};
use crate::output::Output;

/// Plans. Exit code 1 where every engine that was asked for refuses to start.
pub(crate) fn run(args: &MemoryPlanArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    let launch = if args.command.is_empty() { None } else { Some(Launch::parse(&args.command).map_err(|error| failed(&error))?) };
    let named = model::named(args.model.as_ref(), launch.as_ref().and_then(|launch| launch.model.as_deref()))?;
    let found = model::read(&named)?;
    let mut read = found.read;
    if let Some(launch) = launch.as_ref().filter(|launch| !launch.unknown.is_empty()) {
        read.push(format!("options that no rule here knows: {}", launch.unknown.join(" ")));
    }
    let setup = typed::setup(args, launch.as_ref())?;
    let engines = typed::engines(args, launch.as_ref())?;
    let question = Question { model: named.display().to_string(), shape: found.shape, checkpoint: found.checkpoint, setup, engines, read };
    let planned = plan(&question);
    let refused = planned.columns.iter().filter(|column| !column.version.is_empty()).all(|column| column.refused.is_some());
    output.memory_plan(&planned);
    Ok(ExitCode::from(if refused { exit::FAILED } else { exit::ANSWERED }))
}

fn failed(error: &(dyn std::error::Error + 'static)) -> Failure {
    let failure = Failure::user(format!("failed to {error}"));
    match error.source() {
        Some(source) => failure.because(source),
        None => failure,
    }
}
