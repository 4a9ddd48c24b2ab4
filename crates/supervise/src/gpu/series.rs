//! A quantity over time in a bounded number of points: when there are too many, neighbours become one, and the larger value stays, or the smaller.
//!
//! However long it goes on, its extreme is in it, and so are its first and its last span.

use std::time::Duration;

use bystander_model::samples::Series;

/// Which of two neighbours stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The larger: memory that is held.
    Largest,
    /// The smaller: memory that is left.
    Least,
}

impl Keep {
    /// The one of two values that stays.
    pub(crate) fn of(self, one: u64, other: u64) -> u64 {
        match self {
            Self::Largest => one.max(other),
            Self::Least => one.min(other),
        }
    }
}

/// Records one quantity.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    keep: Keep,
    /// The most points that are kept; even.
    most: usize,
    /// How many values become one point.
    stride: usize,
    /// How many values the last point holds so far.
    filled: usize,
    points: Vec<(f64, u64)>,
}

impl Recorder {
    /// A record of at most so many points; two at least.
    pub(crate) fn new(most: usize, keep: Keep) -> Self {
        let most = (most.max(2) / 2) * 2;
        Self { keep, most, stride: 1, filled: 1, points: Vec::new() }
    }

    /// Takes a value, so long after the start.
    pub(crate) fn take(&mut self, after: Duration, value: u64) {
        if self.filled < self.stride
            && let Some((_, last)) = self.points.last_mut()
        {
            *last = self.keep.of(*last, value);
            self.filled += 1;
            return;
        }
        if self.points.len() == self.most {
            self.halve();
        }
        // A millisecond is finer than any two samples lie apart.
        self.points.push(((after.as_secs_f64() * 1e3).round() / 1e3, value));
        self.filled = 1;
    }

    fn halve(&mut self) {
        let one = |pair: &[(f64, u64)]| {
            (pair[0].0, pair.iter().map(|(_, value)| *value).reduce(|one, other| self.keep.of(one, other)).unwrap_or(0))
        };
        let pairs = self.points.chunks(2).map(one);
        self.points = pairs.collect();
        self.stride *= 2;
    }

    /// What was recorded.
    pub(crate) fn series(&self) -> Series {
        Series(self.points.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{Keep, Recorder};

    proptest! {
        #[test]
        fn a_record_is_bounded_in_order_and_keeps_its_peak(values in proptest::collection::vec(any::<u64>(), 0..2000), most in 0_usize..40) {
            let mut recorder = Recorder::new(most, Keep::Largest);
            for (at, value) in (0_u64..).zip(&values) {
                recorder.take(Duration::from_millis(at * 10), *value);
            }
            let points = recorder.series().0;
            prop_assert!(points.len() <= most.max(2));
            prop_assert!(points.len() * 4 >= most.min(values.len()), "{} points of {} values, at most {most}", points.len(), values.len());
            prop_assert!(points.is_sorted_by(|one, other| one.0 < other.0));
            prop_assert_eq!(recorder.series().peak(), values.iter().max().copied());
            prop_assert_eq!(points.first().map(|(at, _)| *at), values.first().map(|_| 0.0));
        }
    }

    #[test]
    fn few_values_are_kept_as_they_are() {
        let mut recorder = Recorder::new(4, Keep::Largest);
        for (at, value) in [(0, 7), (5, 3), (2500, 9)] {
            recorder.take(Duration::from_millis(at), value);
        }
        assert_eq!(recorder.series().0, [(0.0, 7), (0.005, 3), (2.5, 9)]);
    }

    #[test]
    fn of_memory_that_is_left_the_smaller_stays() {
        let mut recorder = Recorder::new(2, Keep::Least);
        for (at, value) in [(0, 9), (1, 4), (2, 7), (3, 8)] {
            recorder.take(Duration::from_secs(at), value);
        }
        assert_eq!(recorder.series().0, [(0.0, 4), (2.0, 7)]);
    }

    #[test]
    fn neighbours_become_one_when_there_are_too_many() {
        let mut recorder = Recorder::new(4, Keep::Largest);
        for at in 0..6_u64 {
            recorder.take(Duration::from_secs(at), at);
        }
        assert_eq!(recorder.series().0, [(0.0, 1), (2.0, 3), (4.0, 5)]);
    }
}
