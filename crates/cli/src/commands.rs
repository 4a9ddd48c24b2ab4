//! One file per verb.

mod doctor;
mod export;
mod found;
mod memory;
mod on;
mod patch;
mod run;
mod show;
mod traffic;
mod watch;

use std::process::ExitCode;

pub(crate) use found::Place;
pub(crate) use on::{far_job, way_to};
pub(crate) use patch::expire::{ARGUMENT as EXPIRE_ARGUMENT, main as expire};
pub(crate) use traffic::main as traffic;

use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::output::Output;

/// Carries out what was typed, here or on the machine that it names.
pub(crate) fn run_anywhere(args: Args) -> ExitCode {
    match on::wanted(&args) {
        Ok(None) => {
            on::reach(&args, None);
            run(args)
        }
        Ok(Some(wanted)) => {
            on::reach(&args, Some(&wanted));
            ended(&mut Output::new(args.json), |output| on::run(&args, &wanted, output))
        }
        Err(failure) => ended(&mut Output::new(args.json), |_| Err(failure)),
    }
}

/// Carries out what was typed.
pub(crate) fn run(args: Args) -> ExitCode {
    let mut output = Output::new(args.json);
    let state = args.state.as_deref();
    patch::expire::undo_expired(&output);
    ended(&mut output, |output| match args.command {
        Command::Run(run) => run::run(&run, state, output),
        Command::Watch(watch) => watch::run(&watch, state, output),
        Command::Show(show) => show::run(&show, state, output),
        Command::Export(export) => export::run(&export, state, output),
        Command::Patch(patch) => patch::run(&patch, state, output),
        Command::Memory(command) => memory::run(&command, state, output),
        Command::Doctor(args) => doctor::run(&args, state, output),
    })
}

/// The exit code of what was done, once every way in which it failed is told.
fn ended(output: &mut Output, done: impl FnOnce(&mut Output) -> Result<ExitCode, Failure>) -> ExitCode {
    let code = done(output).unwrap_or_else(|failure| {
        output.failure(&failure);
        failure.code()
    });
    output.lost().map_or(code, |failure| {
        output.failure(&failure);
        failure.code()
    })
}
