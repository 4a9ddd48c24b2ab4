//! One file per verb.

mod doctor;
mod export;
mod found;
mod memory;
mod patch;
mod run;
mod show;
mod traffic;
mod watch;

use std::process::ExitCode;

pub(crate) use found::Place;
pub(crate) use patch::expire::{ARGUMENT as EXPIRE_ARGUMENT, main as expire};
pub(crate) use traffic::main as traffic;

use crate::args::{Args, Command};
use crate::output::Output;

/// Carries out what was typed.
pub(crate) fn run(args: Args) -> ExitCode {
    let mut output = Output::new(args.json);
    let state = args.state.as_deref();
    patch::expire::undo_expired(&output);
    let done = match args.command {
        Command::Run(run) => run::run(&run, state, &mut output),
        Command::Watch(watch) => watch::run(&watch, state, &mut output),
        Command::Show(show) => show::run(&show, state, &mut output),
        Command::Export(export) => export::run(&export, state, &mut output),
        Command::Patch(patch) => patch::run(&patch, state, &mut output),
        Command::Memory(command) => memory::run(&command, state, &mut output),
        Command::Doctor(args) => doctor::run(&args, state, &mut output),
    };
    let code = done.unwrap_or_else(|failure| {
        output.failure(&failure);
        failure.code()
    });
    output.lost().map_or(code, |failure| {
        output.failure(&failure);
        failure.code()
    })
}
