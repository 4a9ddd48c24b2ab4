//! `bystander memory`: where the GPU memory of an engine goes.

mod plan;

use std::process::ExitCode;

use crate::args::MemoryCommand;
use crate::failure::Failure;
use crate::output::Output;

/// Carries out a verb of `memory`.
pub(crate) fn run(command: &MemoryCommand, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        MemoryCommand::Plan(args) => plan::run(args, output),
    }
}
