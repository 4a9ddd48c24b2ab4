//! Many patterns over much output, on their own: what a trial's metrics do with it, for whoever has patterns and no trial.

use bystander_lab::plan::Pick;
use bystander_model::ids::TrialId;
use bystander_model::reading::LogBlock;

use super::lines::{Lines, Wanted};

/// Patterns that are all looked for at once. Each has one group, a number, of which the last match counts.
#[derive(Debug)]
pub struct Patterns {
    lines: Lines,
}

impl Patterns {
    /// Prepares patterns; one that does not compile matches nothing.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let wanted = patterns.into_iter().map(|text| Wanted { name: text, text, is_json: false, pick: Pick::Last });
        Self { lines: Lines::new(TrialId(0), wanted) }
    }

    /// Takes lines, in their order.
    pub fn block(&mut self, block: &LogBlock<'_>) {
        self.lines.block(block);
    }

    /// How many lines each pattern has matched, in the order of the patterns.
    #[must_use]
    pub fn matches(&self) -> Vec<u64> {
        self.lines.matches()
    }
}
