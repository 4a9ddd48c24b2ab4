//! Logs of earlier runs that an experiment file names: opened, read by the readers of engines, and freed of secrets.

use std::fs::File;
use std::io::BufReader;

use bystander_host::secrets::{blot, looks_secret, values};
use bystander_lab::old_log;
use bystander_lab::plan::{OldLogFile, Plan};
use bystander_model::diagnostic::Diagnostic;
use bystander_model::old_log::OldLog;

use crate::failure::Failure;
use crate::reading;

/// A log above this many bytes is likelier another file; reading it would take minutes.
const LARGEST: u64 = 16 << 30;
/// How much is read at once, in bytes.
const BUFFER: usize = 1 << 20;

/// Reads every log that a plan names.
///
/// # Errors
/// A log that is missing, unreadable, no plain file or too large: nothing was launched.
pub(crate) fn read(plan: &Plan) -> Result<Vec<OldLog>, Failure> {
    let mut logs = Vec::new();
    let mut problems = Vec::new();
    for file in &plan.evidence {
        match read_one(file, plan) {
            Ok(log) => logs.push(log),
            Err(why) => problems.push(problem(plan, file, &why)),
        }
    }
    if problems.is_empty() {
        return Ok(logs);
    }
    Err(Failure::user("failed to read the evidence; nothing was launched").problems(problems))
}

fn read_one(file: &OldLogFile, plan: &Plan) -> Result<OldLog, String> {
    let metadata = std::fs::metadata(&file.log).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is no plain file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err(format!("it has {} GiB, and more than {} is not read", metadata.len() >> 30, LARGEST >> 30));
    }
    let opened = File::open(&file.log).map_err(|error| error.to_string())?;
    let mut log =
        old_log::read(file, plan, BufReader::with_capacity(BUFFER, opened), reading::readers()()).map_err(|error| error.to_string())?;
    if log.bytes == 0 {
        return Err("it is empty, and shows nothing".to_owned());
    }
    old_log::hide_settings(&mut log, looks_secret);
    let secrets = secrets(plan);
    old_log::hide_texts(&mut log, |text| blot(text, &secrets).into_owned());
    Ok(log)
}

/// What looks secret in the command and the environment may stand in a log of the same program too.
fn secrets(plan: &Plan) -> Vec<String> {
    let command: Vec<String> = plan.program.command.iter().map(|word| word.0.clone()).collect();
    let own: Vec<(String, String)> =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
    let set = plan.program.env.iter().map(|(name, value)| (name.as_str(), value.0.as_str()));
    values(&command, own.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(set))
}

fn problem(plan: &Plan, file: &OldLogFile, why: &str) -> Diagnostic {
    let mut problem = Diagnostic::error("evidence.unreadable", format!("the log {} cannot be read: {why}", file.log.display()))
        .label("this log")
        .help("name a log that is there, relative to the experiment file, or take the table out");
    problem.file = Some(plan.file.clone());
    problem.span = (file.span != (0..0)).then(|| file.span.clone());
    problem
}
