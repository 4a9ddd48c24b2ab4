//! The one error type of the statistics, and the checks that make it. No formula belongs here.

/// Why a statistic cannot be computed from what was given.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// More failures than trials.
    #[error("tally {failures} failures in {trials} trials")]
    FailuresAboveTrials {
        /// The failures given.
        failures: u32,
        /// The trials given.
        trials: u32,
    },
    /// Too few observations.
    #[error("compute from {given} observations what needs at least {needed}")]
    TooFew {
        /// The fewest that are enough.
        needed: usize,
        /// How many were given.
        given: usize,
    },
    /// More than exact enumeration or the tables are made for.
    #[error("enumerate {given} cases where {most} is the most")]
    TooMany {
        /// The most that is enumerated.
        most: u64,
        /// What the input would need, saturated.
        given: u64,
    },
    /// Two samples that must be paired have different lengths.
    #[error("pair {left} observations with {right}")]
    Unpaired {
        /// Length of the first sample.
        left: usize,
        /// Length of the second sample.
        right: usize,
    },
    /// An observation is infinite or not a number.
    #[error("use observation {index}, which is not finite")]
    NotFinite {
        /// Zero-based position.
        index: usize,
    },
    /// An observation is zero or negative where a ratio or a logarithm is taken.
    #[error("take the logarithm of observation {index}, which is not positive")]
    NotPositive {
        /// Zero-based position.
        index: usize,
    },
    /// All observations are the same, up to rounding: there is no spread to infer from.
    #[error("infer from {n} identical observations")]
    ZeroVariance {
        /// How many there are.
        n: usize,
    },
    /// Tied or zero observations, for which the exact rank distribution does not hold.
    #[error("rank observations that are tied or zero exactly")]
    Ties,
    /// A parameter lies outside its range.
    #[error("use {quantity} = {value}, which is outside {low} to {high}")]
    OutOfRange {
        /// The parameter's name.
        quantity: &'static str,
        /// The value given.
        value: f64,
        /// Lower end of the range.
        low: f64,
        /// Upper end of the range.
        high: f64,
    },
    /// The interval does not exist: the denominator's interval holds zero.
    #[error("bound a ratio whose denominator is not shown to differ from zero")]
    DenominatorNearZero,
}

/// Checks that `value` lies strictly between 0 and 1.
pub(crate) fn check_open_unit(quantity: &'static str, value: f64) -> Result<f64, StatsError> {
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err(StatsError::OutOfRange { quantity, value, low: 0.0, high: 1.0 }) }
}

/// Checks that `value` is a probability, ends included.
pub(crate) fn check_probability(quantity: &'static str, value: f64) -> Result<f64, StatsError> {
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(StatsError::OutOfRange { quantity, value, low: 0.0, high: 1.0 }) }
}

/// Checks that `value` is positive and finite.
pub(crate) fn check_positive(quantity: &'static str, value: f64) -> Result<f64, StatsError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(StatsError::OutOfRange { quantity, value, low: 0.0, high: f64::INFINITY })
    }
}

/// Checks that a sample has at least `needed` observations, all finite.
pub(crate) fn check_sample(sample: &[f64], needed: usize) -> Result<(), StatsError> {
    if sample.len() < needed {
        return Err(StatsError::TooFew { needed, given: sample.len() });
    }
    match sample.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(StatsError::NotFinite { index }),
        None => Ok(()),
    }
}

/// Checks that all observations are positive and gives their logarithms.
pub(crate) fn checked_logs(sample: &[f64]) -> Result<Vec<f64>, StatsError> {
    check_sample(sample, 0)?;
    match sample.iter().position(|value| *value <= 0.0) {
        Some(index) => Err(StatsError::NotPositive { index }),
        None => Ok(sample.iter().map(|value| value.ln()).collect()),
    }
}
