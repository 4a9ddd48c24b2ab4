//! The course of things while memory is sampled: phases and moments, told by whoever learns of them, on the same time axis as the samples.
//!
//! Whoever reads a log learns that a phase began a little after it did, when samples of it have been taken already. So samples stay open for a while
//! ([`HORIZON`]) before it is settled into which phase they fell; after that, news of the past changes nothing.

mod track;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bystander_model::samples::{Mark, MarkKind, Moment, PhaseSamples};

pub(crate) use track::Track;

/// How long a sample stays open.
pub(crate) const HORIZON: Duration = Duration::from_secs(10);
/// Phases that are kept: more than any start has.
const MOST_PHASES: usize = 48;
/// Marks that are kept.
const MOST_MARKS: usize = 64;

/// The phases and moments of one course; clones are the same course.
#[derive(Debug, Clone, Default)]
pub struct Course(Arc<Mutex<Told>>);

/// What was told so far.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// In the order in which they began.
    phases: Vec<Began>,
    marks: Vec<Mark>,
    unmarked: u64,
}

/// A phase that began.
#[derive(Debug, Clone)]
struct Began {
    /// Its place among all that were told, which stays when one that began earlier is told later.
    id: usize,
    at: f64,
    name: String,
    from: Option<String>,
}

impl Course {
    /// Tells that a phase began, so long after the start. The phase that goes on already does not begin again.
    pub fn phase(&self, at_s: f64, name: &str, from: Option<&str>) {
        let mut told = self.told();
        let place = told.phases.iter().rposition(|phase| phase.at <= at_s).map_or(0, |before| before + 1);
        let same = |at: Option<usize>| at.and_then(|at| told.phases.get(at)).is_some_and(|phase| phase.name == name);
        if told.phases.len() >= MOST_PHASES || !at_s.is_finite() || same(place.checked_sub(1)) {
            return;
        }
        let began = Began { id: told.phases.len(), at: at_s.max(0.0), name: name.to_owned(), from: from.map(str::to_owned) };
        told.phases.insert(place, began);
    }

    /// Tells that something happened, so long after the start.
    pub fn mark(&self, at_s: f64, kind: MarkKind, text: &str, from: Option<&str>) {
        let mut told = self.told();
        // The end of things is told however much happened before.
        if told.marks.len() >= MOST_MARKS && kind != MarkKind::Ended {
            told.unmarked += 1;
            return;
        }
        let (text, from) = (text.to_owned(), from.map(str::to_owned));
        told.marks.push(Mark { at_s: rounded(at_s), kind, text, from, rss_bytes: None, gpus: Vec::new() });
    }

    /// Counts something that happened and needs no mark.
    pub fn unmarked(&self) {
        self.told().unmarked += 1;
    }

    /// The phase that goes on now.
    #[must_use]
    pub fn now(&self) -> Option<String> {
        self.told().phases.last().map(|phase| phase.name.clone())
    }

    pub(crate) fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Told {
    /// The phase that a moment falls into, by its id.
    pub(crate) fn phase_at(&self, at_s: f64) -> Option<usize> {
        self.phases.iter().rfind(|phase| phase.at <= at_s).map(|phase| phase.id)
    }

    /// Marks so far.
    pub(crate) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// A moment with its phase.
    pub(crate) fn moment(&self, at_s: f64) -> Moment {
        let name = |id: usize| self.phases.iter().find(|phase| phase.id == id).map(|phase| phase.name.clone());
        Moment { at_s: rounded(at_s), phase: self.phase_at(at_s).and_then(name) }
    }

    /// The phases in order, each with its id, for tracks to say what was held in them.
    pub(crate) fn phases(&self) -> Vec<(usize, PhaseSamples)> {
        let samples = |phase: &Began| PhaseSamples {
            name: phase.name.clone(),
            at_s: rounded(phase.at),
            from: phase.from.clone(),
            ..PhaseSamples::default()
        };
        self.phases.iter().map(|phase| (phase.id, samples(phase))).collect()
    }

    /// What happened and was not kept.
    pub(crate) fn unmarked_count(&self) -> u64 {
        self.unmarked
    }
}

/// A millisecond is finer than any two samples lie apart.
pub(crate) fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use bystander_model::samples::MarkKind;

    use super::{Course, MOST_MARKS, MOST_PHASES};

    #[test]
    fn a_phase_that_is_told_late_takes_its_place_and_none_begins_twice() {
        let course = Course::default();
        for (at, name) in [(0.0, "starting"), (5.0, "serving"), (2.0, "weight_load"), (3.0, "weight_load"), (6.0, "serving")] {
            course.phase(at, name, None);
        }
        let names: Vec<(f64, String)> = course.told().phases().into_iter().map(|(_, phase)| (phase.at_s, phase.name)).collect();
        assert_eq!(names, [(0.0, "starting".into()), (2.0, "weight_load".into()), (5.0, "serving".into())]);
        let told = course.told();
        let at = |seconds: f64| told.moment(seconds).phase;
        assert_eq!((at(1.9).as_deref(), at(2.0).as_deref(), at(99.0).as_deref()), (Some("starting"), Some("weight_load"), Some("serving")));
    }

    #[test]
    fn nothing_grows_without_bound_and_the_end_is_always_told() {
        let course = Course::default();
        for at in 0..2000_u32 {
            course.phase(f64::from(at), &format!("phase {at}"), None);
            course.mark(f64::from(at), MarkKind::Hit, "x", None);
        }
        course.phase(f64::NAN, "never", None);
        course.mark(3000.0, MarkKind::Ended, "exit code 0", None);
        let told = course.told();
        assert_eq!((told.phases().len(), told.marks().len()), (MOST_PHASES, MOST_MARKS + 1));
        assert_eq!(told.unmarked_count(), 2000 - MOST_MARKS as u64);
    }

    #[test]
    fn before_the_first_phase_there_is_none() {
        let course = Course::default();
        course.phase(1.0, "starting", None);
        assert_eq!(course.told().moment(0.5).phase, None);
        assert_eq!(course.now().as_deref(), Some("starting"));
    }
}
