//! Processes as `/proc` shows them: whose they are is told by their environment.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// A living process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its command line, words separated by spaces.
    pub command: String,
    /// The trial that it belongs to, as its environment says.
    pub trial: Option<String>,
}

/// Sends a signal; a process that is gone already is no error.
///
/// # Panics
/// Where the signal may not be sent.
pub fn kill(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process number");
    match kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("{pid:?} cannot be signalled: {error}"),
    }
}

/// Whether a process runs: one that is dead and not reaped does not.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// The living processes whose environment has a variable with this value. Environments as they were at `exec`.
pub(crate) fn with_variable(name: &str, value: &str) -> Vec<Process> {
    let wanted = format!("{name}={value}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| look(pid, wanted.as_bytes())).collect()
}

fn look(pid: u32, wanted: &[u8]) -> Option<Process> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|&byte| byte == 0);
    if !variables.clone().any(|variable| variable == wanted) || !is_alive(pid) {
        return None;
    }
    let trial = variables.find_map(|variable| variable.strip_prefix(b"BYSTANDER_TRIAL="));
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = command.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
    Some(Process {
        pid,
        command: words.join(" ").trim_end().to_owned(),
        trial: trial.map(|trial| String::from_utf8_lossy(trial).into_owned()),
    })
}
