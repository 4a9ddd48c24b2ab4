//! The `bystander` command: puts the parts together.
//!
//! `main` only tells a keeper from a command. Each verb has its file in [`commands`]; only [`output`] prints; every way to fail is a
//! [`failure::Failure`], and its kind is the exit code.
#![forbid(unsafe_code)]

mod answered;
mod args;
mod commands;
mod failure;
mod interrupt;
mod not_text;
mod old_logs;
mod other_runs;
mod output;
mod packed;
mod reading;
mod recording;
mod state;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    // A keeper is started for every trial: it must not pay for anything that a command needs.
    if std::env::args_os().nth(1).is_some_and(|first| first == bystander_supervise::command::KeeperProgram::ARGUMENT) {
        return bystander_supervise::keeper::main();
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == commands::EXPIRE_ARGUMENT) {
        return commands::expire();
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == bystander_traffic::ARGUMENT) {
        return commands::traffic();
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == bystander_host::remote::agent::ARGUMENT) {
        return bystander_host::remote::agent::main();
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == bystander_host::remote::warden::ARGUMENT) {
        return bystander_host::remote::warden::main();
    }
    let (words, is_far) = commands::far_job(std::env::args_os().collect());
    let args = match args::Args::try_parse_from(&words) {
        Ok(args) => args,
        Err(error) if error.kind() == clap::error::ErrorKind::InvalidUtf8 => {
            let failure = not_text::refused(&words);
            output::Output::new(words.iter().any(|word| word == "--json")).failure(&failure);
            return failure.code();
        }
        Err(error) => return output::usage(&error),
    };
    if is_far { commands::run(args) } else { commands::run_anywhere(args) }
}
