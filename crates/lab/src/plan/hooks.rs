//! Commands around the run and around every trial.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Template;

/// Commands around the run and around every trial; none where the file declares none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Hooks {
    /// Before the first launch, whenever the run begins or is taken up.
    pub setup: Vec<HookCommand>,
    /// Before every trial.
    pub prepare: Vec<HookCommand>,
    /// After every trial.
    pub conclude: Vec<HookCommand>,
    /// After the last launch, whenever the run ends or is stopped.
    pub cleanup: Vec<HookCommand>,
    /// How long one command may take.
    pub timeout: Duration,
    /// Whether a trial is no data point where what comes after it fails.
    pub strict: bool,
}

impl Hooks {
    /// Every hook that has commands, by its name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &[HookCommand])> {
        let named = [("setup", &self.setup), ("prepare", &self.prepare), ("conclude", &self.conclude), ("cleanup", &self.cleanup)];
        named.into_iter().map(|(name, commands)| (name, commands.as_slice())).filter(|(_, commands)| !commands.is_empty())
    }
}

/// One command of a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookCommand {
    /// Command and arguments.
    pub argv: Vec<Template>,
    /// Where it stands in the experiment file, for diagnostics.
    #[serde(default)]
    pub span: Option<Range<usize>>,
}
