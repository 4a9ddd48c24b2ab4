//! Logs of earlier runs that an experiment file names: opened, read by the readers of engines, and freed of secrets.

use std::fs::File;
use std::io::{BufRead as _, BufReader};

use bystander_host::secrets::{Masker, blot, values};
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
/// By so much of its beginning a log is told from other files, in bytes.
const LOOKED_AT: usize = 64 << 10;

/// Looks at the beginning of every log that a plan names, as far as a dry run may know it.
///
/// # Errors
/// As [`read`], for what can be told without reading all of it.
pub(crate) fn look(plan: &Plan) -> Result<(), Failure> {
    refused(plan.evidence.iter().filter_map(|file| Some(problem(plan, file, &open(file).err()?))).collect())
}

/// Reads every log that a plan names; what looks secret in them is masked as it is in trials.
///
/// # Errors
/// A log that is missing, unreadable, no plain file or too large: nothing was launched.
pub(crate) fn read(plan: &Plan, masker: &Masker) -> Result<Vec<OldLog>, Failure> {
    let mut logs = Vec::new();
    let mut problems = Vec::new();
    for file in &plan.evidence {
        match read_one(file, plan, masker) {
            Ok(log) => logs.push(log),
            Err(why) => problems.push(problem(plan, file, &why)),
        }
    }
    refused(problems).map(|()| logs)
}

fn refused(problems: Vec<Diagnostic>) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::user("failed to read the evidence; nothing was launched").problems(problems))
}

/// Opens a log, where it may be one: a plain file that begins with text.
fn open(file: &OldLogFile) -> Result<BufReader<File>, String> {
    let metadata = std::fs::metadata(&file.log).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err(if metadata.is_dir() { "it is a folder".to_owned() } else { "it is no plain file".to_owned() });
    }
    if metadata.len() > LARGEST {
        return Err(format!("it has {} GiB, and more than {} is not read", metadata.len() >> 30, LARGEST >> 30));
    }
    if metadata.len() == 0 {
        return Err("it is empty, and shows nothing".to_owned());
    }
    let opened = File::open(&file.log).map_err(|error| error.to_string())?;
    let mut log = BufReader::with_capacity(BUFFER, opened);
    let start = log.fill_buf().map_err(|error| error.to_string())?;
    match no_text(&start[..start.len().min(LOOKED_AT)]) {
        Some(what) => Err(what.to_owned()),
        None => Ok(log),
    }
}

/// Why bytes cannot be the beginning of a log, if they cannot.
fn no_text(start: &[u8]) -> Option<&'static str> {
    let packed = [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"PK\x03\x04"];
    if packed.iter().any(|magic| start.starts_with(magic)) {
        return Some("it is compressed: unpack it first");
    }
    let wide = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    if wide {
        return Some("it is UTF-16 text: turn it into UTF-8 first");
    }
    // A program may write a stray NUL; a file of numbers has nothing else so often.
    let zeros = start.iter().filter(|byte| **byte == 0).count();
    (zeros * 100 > start.len()).then_some("it is no text: more than one byte in a hundred is zero")
}

fn read_one(file: &OldLogFile, plan: &Plan, masker: &Masker) -> Result<OldLog, String> {
    let mut log = old_log::read(file, plan, open(file)?, reading::readers()()).map_err(|error| error.to_string())?;
    let secrets = secrets(plan);
    old_log::hide_texts(&mut log, |text| blot(text, &secrets).into_owned());
    // As with the output of a trial: known values first, then what looks secret by its name.
    log.configuration.iter_mut().for_each(|stated| masker.configuration(stated));
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

#[cfg(test)]
mod tests {
    use super::no_text;

    #[test]
    fn what_is_no_log_is_told_by_its_beginning() {
        for log in
            [&b"INFO 12:00 loading\n"[..], b"", "\u{feff}caf\u{e9} \x1b[31mred\x1b[0m".as_bytes(), &[b"x".repeat(200), vec![0]].concat()]
        {
            assert_eq!(no_text(log), None, "{log:?}");
        }
        for (other, why) in [
            (&b"\x1f\x8b\x08\x00"[..], "compressed"),
            (b"\x28\xb5\x2f\xfd", "compressed"),
            (b"\x7fELF\x02\x01\x01\x00\x00", "no text"),
            (b"SQLite format 3\0\x10\0", "no text"),
            (b"\xff\xfei\0n\0", "UTF-16"),
        ] {
            assert!(no_text(other).is_some_and(|said| said.contains(why)), "{other:?}: {:?}", no_text(other));
        }
    }
}
