//! The program under test, what is done to it, and what a level changes in it.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use bystander_model::traffic::Load;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{Ready, RequestCounts, Template, Treatment};

/// The program under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Command and arguments; levels append theirs.
    pub command: Vec<Template>,
    /// The Python that it starts in the end, where the command is another program; a name without a slash is found on its PATH.
    #[serde(default)]
    pub python: Option<PathBuf>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// Variables set on top of the caller's environment.
    pub env: IndexMap<String, Template>,
    /// What shows that it is ready; `None` for a program that simply ends.
    pub ready: Option<Ready>,
    /// From spawn to the end, workload included.
    pub timeout: Duration,
    /// Without output for this long and not ready, it counts as stalled in the words of a time-out.
    pub stall: Duration,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// What every trial has for itself, and not from another.
    #[serde(default)]
    pub fresh: Fresh,
    /// Where the keys stand in the experiment file, for diagnostics: `command`, `python`, `cwd`, `ready`.
    #[serde(default)]
    pub spans: IndexMap<String, Range<usize>>,
}

/// What every trial has for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fresh {
    /// An empty working directory.
    pub cwd: bool,
    /// Empty cache directories; otherwise all trials share those that the caller's environment names.
    pub cache: bool,
}

/// What is done to the ready program: a command, or built-in traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Command and arguments; none for built-in traffic.
    pub command: Vec<Template>,
    /// The built-in traffic. Its texts may hold placeholders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Load>,
    /// What tells how many of the requests of a command failed; built-in traffic counts its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestCounts>,
    /// From its spawn to its end.
    pub timeout: Duration,
    /// Where the keys stand in the experiment file, for diagnostics: `command`, `traffic`, `prompt.file`, `api_key_env`.
    #[serde(default)]
    pub spans: IndexMap<String, Range<usize>>,
}

impl Workload {
    /// Its texts that are filled for a trial.
    pub fn texts(&self) -> impl Iterator<Item = Template> {
        let of_load = |load: &Load| std::iter::once(load.url.clone()).chain(load.model.clone()).map(Template).collect::<Vec<_>>();
        self.command.iter().cloned().chain(self.traffic.as_ref().map(of_load).unwrap_or_default())
    }
}

/// What a level changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Arguments appended to the command.
    pub args: Vec<Template>,
    /// Variables set.
    pub env: IndexMap<String, Template>,
    /// Variables removed.
    pub unset: Vec<String>,
    /// By what it is seen in the program that this level was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub treatment: Option<Treatment>,
}

impl Level {
    /// Whether another level gives the program the same, however either is seen in it.
    #[must_use]
    pub fn changes_the_same(&self, other: &Self) -> bool {
        self.args == other.args && self.env == other.env && self.unset == other.unset
    }
}
