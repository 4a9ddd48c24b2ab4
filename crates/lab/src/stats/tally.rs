//! Failures among the launches of one arm: the input of every test of outcomes.

use super::error::StatsError;

/// The most trials of one arm: keeps every enumeration in this module bounded.
pub const MAX_TRIALS: u32 = 10_000;

/// How many of an arm's trials failed. Trials without a determined outcome are in neither number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tally {
    failures: u32,
    trials: u32,
}

impl Tally {
    /// Makes a tally.
    ///
    /// # Errors
    /// More failures than trials, or more than [`MAX_TRIALS`] trials.
    pub const fn new(failures: u32, trials: u32) -> Result<Self, StatsError> {
        if failures > trials {
            return Err(StatsError::FailuresAboveTrials { failures, trials });
        }
        if trials > MAX_TRIALS {
            return Err(StatsError::TooMany { most: MAX_TRIALS as u64, given: trials as u64 });
        }
        Ok(Self { failures, trials })
    }

    /// The number of failures.
    #[must_use]
    pub const fn failures(self) -> u32 {
        self.failures
    }

    /// The number of trials.
    #[must_use]
    pub const fn trials(self) -> u32 {
        self.trials
    }

    /// The number of trials that did not fail.
    #[must_use]
    pub const fn successes(self) -> u32 {
        self.trials - self.failures
    }

    /// The share that failed; `None` without trials.
    #[must_use]
    pub fn proportion(self) -> Option<f64> {
        (self.trials > 0).then(|| f64::from(self.failures) / f64::from(self.trials))
    }

    /// The same arm with failures and successes exchanged.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self { failures: self.trials - self.failures, trials: self.trials }
    }

    /// The tally after `failures` more failures in `trials` more trials.
    ///
    /// # Errors
    /// As [`Tally::new`].
    pub const fn plus(self, failures: u32, trials: u32) -> Result<Self, StatsError> {
        Self::new(self.failures.saturating_add(failures), self.trials.saturating_add(trials))
    }
}
