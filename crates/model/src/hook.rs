//! Commands around a run and its trials: `setup`, `prepare`, `conclude`, `cleanup`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One command of a hook that was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookRun {
    /// The hook: `setup`, `prepare`, `conclude` or `cleanup`.
    pub hook: String,
    /// The command with its arguments, placeholders filled, secrets masked.
    pub command: Vec<String>,
    /// The exit code; `None` where it was ended by a signal or never started.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it failed, in a sentence with the last line that it wrote; `None` where it ended with 0.
    pub failure: Option<String>,
    /// The last lines that it wrote, on standard error where it wrote there; kept where it failed.
    #[serde(default)]
    pub last: Vec<String>,
    /// Seconds from its start to its end.
    pub wall_s: f64,
    /// What it wrote.
    pub outputs: Vec<HookOutput>,
}

/// One kept stream of a hook's command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookOutput {
    /// The file, relative to the state directory.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
    /// SHA-256 in hex.
    pub sha256: String,
}
