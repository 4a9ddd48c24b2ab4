//! What looking costs: how many samples were taken, and how long they took.

use std::time::Duration;

/// The cost of samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// How many were taken.
    pub samples: u64,
    /// How long they took in all.
    pub total: Duration,
    /// How long the longest took.
    pub worst: Duration,
}

impl Cost {
    /// Adds a sample that took so long.
    pub(crate) fn add(&mut self, took: Duration) {
        self.samples += 1;
        self.total += took;
        self.worst = self.worst.max(took);
    }

    /// How long one took on average; zero where there was none.
    #[must_use]
    pub fn mean(&self) -> Duration {
        u32::try_from(self.samples).ok().filter(|samples| *samples > 0).map_or(Duration::ZERO, |samples| self.total / samples)
    }
}
