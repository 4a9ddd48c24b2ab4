//! The client of built-in traffic: a process of a trial, and no verb that anybody types.

use std::path::Path;
use std::process::ExitCode;

use bystander_model::chain::with_causes;
use bystander_traffic::client;

use crate::output::Output;

/// The traffic failed: the server did not do what it was asked.
const FAILED: u8 = 1;
/// The traffic could not be put on the server.
const IMPOSSIBLE: u8 = 2;

/// Puts the load of a folder on its server; the summary goes to standard output, talk to standard error.
pub(crate) fn main() -> ExitCode {
    let mut output = Output::new(true);
    let Some(folder) = std::env::args_os().nth(2) else { return ExitCode::from(IMPOSSIBLE) };
    match client(Path::new(&folder), &mut |progress| output.say(&progress.to_string())) {
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
