//! What the experiment needs of those who know an engine's output.

use bystander_model::hit::Hit;
use bystander_model::ids::TrialId;
use bystander_model::reading::{ErrorSeen, LogBlock, LogLine, PhaseBegan, Reading};

/// Reads one trial's output and hits as they come, and says what they mean. It keeps bounded memory, and one reader serves one trial.
pub trait CauseReader {
    /// The name of what it reads, such as `sglang`.
    fn name(&self) -> &str;

    /// Takes the next line.
    fn line(&mut self, line: &LogLine<'_>);

    /// Takes the next lines of a stream; whoever can tell by one search which of them matter says so here.
    fn block(&mut self, block: &LogBlock<'_>) {
        block.lines().for_each(|line| self.line(&line));
    }

    /// Takes the next hit.
    fn hit(&mut self, hit: &Hit);

    /// The phases that have begun so far, in the order in which they did; none where it knows of none.
    fn phases(&self) -> &[PhaseBegan] {
        &[]
    }

    /// Says what was read; `error` is what the failure started with, where there is one.
    fn finish(&self, trial: TrialId, error: Option<&ErrorSeen<'_>>) -> Reading;
}
