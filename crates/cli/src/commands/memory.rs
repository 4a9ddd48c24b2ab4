//! `bystander memory`: where the GPU memory of an engine goes.

mod explain;
mod plan;
mod watch;

use std::path::Path;
use std::process::ExitCode;

use crate::args::MemoryCommand;
use crate::failure::Failure;
use crate::output::Output;

/// Carries out a verb of `memory`.
pub(crate) fn run(command: &MemoryCommand, state: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        MemoryCommand::Explain(args) => explain::run(args, state, output),
        MemoryCommand::Plan(args) => plan::run(args, output),
        MemoryCommand::Watch(args) => watch::run(args, output),
    }
}
