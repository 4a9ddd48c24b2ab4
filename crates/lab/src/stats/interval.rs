//! An interval of values. How it is computed belongs to the method's own file.

/// A closed interval, in the unit of what it bounds; an end may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Makes an interval from its ends.
    #[must_use]
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Tells whether `value` lies inside, ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Tells whether the whole interval lies strictly between `low` and `high`: the reading of an equivalence margin.
    #[must_use]
    pub fn lies_within(&self, low: f64, high: f64) -> bool {
        low < self.low && self.high < high
    }

    /// Tells whether both ends are finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// Gives the interval of the exponentials: from the log scale to ratios.
    #[must_use]
    pub fn exp(self) -> Self {
        Self::new(self.low.exp(), self.high.exp())
    }
}
