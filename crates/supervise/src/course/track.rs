//! One quantity in the course of things: its series, its extreme and the moment of it, its extreme in each phase, its value at each mark.

use std::collections::VecDeque;
use std::time::Duration;

use bystander_model::samples::{Moment, Series};

use super::{HORIZON, Told};
use crate::gpu::{Keep, Recorder};

/// Samples that stay open at most, however short the time between them.
const MOST_OPEN: usize = 512;

/// Seconds since the start.
type Seconds = f64;

/// Records one quantity.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    keep: Keep,
    record: Recorder,
    /// Samples of which it is not settled yet into which phase they fell.
    open: VecDeque<(Seconds, u64)>,
    extreme: Option<(Seconds, u64)>,
    last: Option<(Seconds, u64)>,
    /// The last one that is settled.
    settled: Option<u64>,
    /// The extreme in each phase, by id.
    phases: Vec<Option<u64>>,
    /// The value at each mark; the inner one is `None` where no sample came before it.
    marks: Vec<Option<Option<u64>>>,
}

impl Track {
    /// A record of so many points at most.
    pub(crate) fn new(most: usize, keep: Keep) -> Self {
        Self {
            keep,
            record: Recorder::new(most, keep),
            open: VecDeque::new(),
            extreme: None,
            last: None,
            settled: None,
            phases: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// Takes a value, so long after the start.
    pub(crate) fn take(&mut self, after: Duration, value: u64, told: &Told) {
        let at = after.as_secs_f64();
        self.record.take(after, value);
        if self.extreme.is_none_or(|(_, extreme)| self.keep.of(extreme, value) != extreme) {
            self.extreme = Some((at, value));
        }
        self.last = Some((at, value));
        self.open.push_back((at, value));
        self.settle(told, at - HORIZON.as_secs_f64());
        while self.open.len() > MOST_OPEN {
            self.settle_next(told);
        }
    }

    /// Settles what is older than a moment.
    fn settle(&mut self, told: &Told, before: Seconds) {
        while self.open.front().is_some_and(|(at, _)| *at < before) {
            self.settle_next(told);
        }
    }

    fn settle_next(&mut self, told: &Told) {
        let Some((at, value)) = self.open.pop_front() else { return };
        self.settle_marks(told, Some(at));
        if let Some(phase) = told.phase_at(at) {
            let needed = self.phases.len().max(phase + 1);
            self.phases.resize(needed, None);
            let slot = &mut self.phases[phase];
            *slot = Some(slot.map_or(value, |known| self.keep.of(known, value)));
        }
        self.settled = Some(value);
    }

    /// Gives marks before a moment their value.
    fn settle_marks(&mut self, told: &Told, before: Option<Seconds>) {
        self.marks.resize(told.marks().len().max(self.marks.len()), None);
        for (slot, mark) in self.marks.iter_mut().zip(told.marks()) {
            if slot.is_none() && before.is_none_or(|before| mark.at_s < before) {
                *slot = Some(self.settled);
            }
        }
    }

    /// Settles everything: no more will come.
    pub(crate) fn finish(&mut self, told: &Told) {
        while !self.open.is_empty() {
            self.settle_next(told);
        }
        self.settle_marks(told, None);
    }

    /// The latest value.
    pub(crate) fn last(&self) -> Option<u64> {
        self.last.map(|(_, value)| value)
    }

    /// The extreme so far.
    pub(crate) fn extreme(&self) -> Option<u64> {
        self.extreme.map(|(_, value)| value)
    }

    /// The moment of the extreme: the first one of those that are alike.
    pub(crate) fn moment(&self, told: &Told) -> Option<Moment> {
        self.extreme.map(|(at, _)| told.moment(at))
    }

    /// The extreme in a phase, by its id; of what is settled.
    pub(crate) fn in_phase(&self, id: usize) -> Option<u64> {
        self.phases.get(id).copied().flatten()
    }

    /// The value at a mark, by its number.
    pub(crate) fn at_mark(&self, number: usize) -> Option<u64> {
        self.marks.get(number).copied().flatten().flatten()
    }

    /// What was recorded.
    pub(crate) fn series(&self) -> Series {
        self.record.series()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bystander_model::samples::MarkKind;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::super::Course;
    use super::Track;
    use crate::gpu::Keep;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn samples_fall_into_the_phase_in_which_they_were_taken_also_where_it_is_told_later() {
        let course = Course::default();
        course.phase(0.0, "starting", None);
        let mut track = Track::new(16, Keep::Largest);
        for (at, value) in [(100, 5), (900, 7), (1100, 50), (1500, 40)] {
            track.take(ms(at), value, &course.told());
        }
        // The log is read a second after the line was written.
        course.phase(1.0, "weight_load", Some("stderr:3"));
        course.mark(1.2, MarkKind::Hit, "probe", None);
        course.mark(0.05, MarkKind::Hit, "before any sample", None);
        track.take(ms(1900), 45, &course.told());
        let told = course.told();
        track.finish(&told);
        assert_eq!((track.in_phase(0), track.in_phase(1), track.in_phase(2)), (Some(7), Some(50), None));
        assert_eq!((track.at_mark(0), track.at_mark(1), track.at_mark(9)), (Some(50), None, None));
        let moment = track.moment(&told).expect("samples were taken");
        assert_eq!((moment.at_s, moment.phase.as_deref()), (1.1, Some("weight_load")));
        assert_eq!((track.extreme(), track.last()), (Some(50), Some(45)));
    }

    #[test]
    fn what_is_older_than_the_horizon_is_settled_and_late_news_do_not_move_it() {
        let course = Course::default();
        course.phase(0.0, "starting", None);
        let mut track = Track::new(16, Keep::Largest);
        for at in 0..10 {
            track.take(ms(at * 5000), at, &course.told());
        }
        course.phase(7.5, "late", None);
        let told = course.told();
        track.finish(&told);
        // Seconds 0 to 30 were settled when second 45 came.
        assert_eq!((track.in_phase(0), track.in_phase(1)), (Some(6), Some(9)));
    }

    #[test]
    fn of_memory_that_is_left_the_least_counts() {
        let course = Course::default();
        course.phase(0.0, "starting", None);
        let mut track = Track::new(4, Keep::Least);
        for (at, value) in [(0, 90), (10, 20), (20, 80)] {
            track.take(ms(at), value, &course.told());
        }
        let told = course.told();
        track.finish(&told);
        assert_eq!((track.extreme(), track.in_phase(0), track.moment(&told).map(|moment| moment.at_s)), (Some(20), Some(20), Some(0.01)));
    }

    proptest! {
        #[test]
        fn the_extremes_of_the_phases_make_the_extreme_of_all(
            values in proptest::collection::vec(any::<u32>(), 1..300),
            begins in proptest::collection::btree_set(0_u64..30_000, 0..12),
            step in 1_u64..200,
        ) {
            let course = Course::default();
            course.phase(0.0, "starting", None);
            for at in &begins {
                course.phase(*at as f64 / 1e3, &at.to_string(), None);
            }
            let mut track = Track::new(8, Keep::Largest);
            for (number, value) in (0_u64..).zip(&values) {
                track.take(ms(number * step), u64::from(*value), &course.told());
            }
            let told = course.told();
            track.finish(&told);
            let largest = told.phases().iter().filter_map(|(id, _)| track.in_phase(*id)).max();
            prop_assert_eq!(largest, values.iter().max().map(|value| u64::from(*value)));
            prop_assert_eq!(largest, track.extreme());
            prop_assert_eq!(track.series().peak(), largest);
        }
    }
}
