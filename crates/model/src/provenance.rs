//! What a trial ran: command, environment, files, versions, machine.

use std::path::PathBuf;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that identifies what was launched. Values that look secret are masked before they come here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The command with its arguments, placeholders filled.
    pub command: Vec<String>,
    /// What stood for the placeholders of the command, such as `port`.
    #[serde(default)]
    pub placeholders: IndexMap<String, String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The effective environment of the program; secrets as `<hidden:HASH>`.
    pub env: IndexMap<String, String>,
    /// Git commit of the working directory, and whether tracked files differ from it.
    pub git: Option<Git>,
    /// SHA-256 of every instrumented file as it stood when the program was launched, by path.
    pub files: IndexMap<PathBuf, String>,
    /// The interpreter's version and the versions of installed packages, where the program is Python.
    pub python: Option<PythonInfo>,
    /// Kernel release.
    pub kernel: String,
    /// Names of GPUs and driver version, where there are any.
    pub gpus: Vec<String>,
}

/// The state of a git work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Git {
    /// The commit.
    pub commit: String,
    /// Whether tracked files differ from it.
    pub dirty: bool,
}

/// A Python interpreter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PythonInfo {
    /// The executable.
    pub executable: PathBuf,
    /// The version, such as `3.11.7`.
    pub version: String,
    /// Installed distributions, name to version.
    pub packages: IndexMap<String, String>,
}
