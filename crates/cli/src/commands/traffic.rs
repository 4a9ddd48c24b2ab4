//! The client of built-in traffic: a process of a trial, and no verb that anybody types.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bystander_model::chain::with_causes;
use bystander_traffic::client;
use signal_hook::consts::SIGTERM;

use crate::output::Output;

/// The traffic failed: the server did not do what it was asked.
const FAILED: u8 = 1;
/// The traffic could not be put on the server.
const IMPOSSIBLE: u8 = 2;

/// Puts the load of a folder on its server; the summary goes to standard output, talk to standard error.
pub(crate) fn main() -> ExitCode {
    let mut output = Output::new(true);
    let Some(folder) = std::env::args_os().nth(2) else { return ExitCode::from(IMPOSSIBLE) };
    let stop = Arc::new(AtomicBool::new(false));
    // Without it the client ends at once, and leaves nothing of what it has measured.
    let _ = signal_hook::flag::register(SIGTERM, Arc::clone(&stop));
    let done = client(Path::new(&folder), &stop, &mut |progress| output.say(&progress.to_string()));
    if stop.load(Ordering::Relaxed) && done.as_ref().is_ok_and(|summary| summary.stopped) {
        // Who sent it reads how the client ended, and it has not ended by itself.
        let _ = signal_hook::low_level::emulate_default_handler(SIGTERM);
    }
    match done {
        Ok(summary) => {
            output.traffic(&summary);
            match &summary.failure {
                None => ExitCode::SUCCESS,
                Some(failure) => {
                    output.say(failure);
                    ExitCode::from(FAILED)
                }
            }
        }
        Err(error) => {
            output.say(&format!("failed to {}", with_causes(&error)));
            ExitCode::from(IMPOSSIBLE)
        }
    }
}
