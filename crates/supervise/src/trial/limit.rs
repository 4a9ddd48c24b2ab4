//! The time limit of a trial whose owner may be behind: what the program had written by then counts, whenever it is read.

use std::time::{Duration, Instant};

use bystander_model::ids::TimeNs;

use super::Trial;
use super::conditions::Standing;
use crate::output::{Line, Lines};

/// Output that does not come through to its owner for so long will not.
const STUCK: Duration = Duration::from_secs(10);

/// What can be said at the time limit of a trial, once [`Trial::limit`] has named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtLimit {
    /// Not everything that the program had written by then was told, or it is not known yet whether it was ready by then.
    Open,
    /// It was not ready by then.
    Over,
    /// It cannot be told whether it was: its owner was behind, for the reason in words.
    Unknown(String),
}

/// A time limit that was reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    at: TimeNs,
    /// How much the program had written by then on each stream.
    come: [u64; 2],
    /// Whether some of it had not been told.
    behind: bool,
    /// Whether all that was to be said in lines had been told.
    said: bool,
    /// When something was told last, and how much.
    moved: (Instant, u64),
    /// Since when everything was told, and how many looks at the conditions there had been.
    caught_up: Option<(Instant, u64)>,
}

impl Limit {
    /// How much of each stream came before it.
    pub(super) fn come(&self) -> [u64; 2] {
        self.come
    }

    /// Gives a line that came before the limit and was read after it the time of the limit.
    pub(super) fn date(&self, at: usize, line: &mut Line) {
        if line.offset + line.length <= self.come[at] {
            line.time_ns = line.time_ns.min(self.at);
        }
    }

    /// The same for lines.
    pub(super) fn date_all(&self, at: usize, lines: &mut Lines) {
        if lines.offset + lines.text.len() as u64 <= self.come[at] {
            lines.time_ns = lines.time_ns.min(self.at);
        }
    }
}

impl Trial {
    /// Names this instant as the time limit: what the program has written until now counts as having come by then, whenever it is told. A second call
    /// changes nothing. Returns the instant.
    pub fn limit(&mut self) -> TimeNs {
        if let Some(limit) = &self.limit {
            return limit.at;
        }
        let at = self.clock.now();
        let come = [self.readers[0].come(), self.readers[1].come()];
        let behind = !self.has_told(come);
        let said = self.conditions.as_ref().is_none_or(|conditions| conditions.said_by(at));
        self.limit = Some(Limit { at, come, behind, said, moved: (Instant::now(), 0), caught_up: None });
        at
    }

    /// What can be said at the time limit; [`AtLimit::Open`] as long as none was named. To be asked between events until it is not open.
    pub fn at_limit(&mut self) -> AtLimit {
        let Some(mut limit) = self.limit else { return AtLimit::Open };
        let found = self.judge(&mut limit);
        self.limit = Some(limit);
        found
    }

    /// Whether the program has written something that was not told yet, whole lines or not.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        !self.due.is_empty() || self.readers.iter().any(crate::output::lines::LineReader::has_unread)
    }

    fn has_told(&self, come: [u64; 2]) -> bool {
        self.due.is_empty() && self.held.is_none() && self.readers.iter().zip(come).all(|(reader, come)| reader.has_split(come))
    }

    fn judge(&self, limit: &mut Limit) -> AtLimit {
        if !self.has_told(limit.come) {
            let told = self.readers.iter().map(|reader| reader.summary().lines).sum();
            if told != limit.moved.1 {
                limit.moved = (Instant::now(), told);
            }
            let stuck = limit.moved.0.elapsed() > STUCK;
            let why = || format!("output that it had written by then did not come through within {} s", STUCK.as_secs());
            return if stuck { AtLimit::Unknown(why()) } else { AtLimit::Open };
        }
        let Some(conditions) = &self.conditions else { return AtLimit::Over };
        let (since, looks) = *limit.caught_up.get_or_insert_with(|| (Instant::now(), conditions.looks()));
        let late = limit.behind && !limit.said && conditions.said_by(limit.at);
        let unknown = || {
            let why = "it had said all that it was to say by then, which was read only after it, so that nothing else had been asked";
            AtLimit::Unknown(why.to_owned())
        };
        match conditions.standing(limit.at, looks, since.elapsed(), late) {
            Standing::Open => AtLimit::Open,
            Standing::Over => AtLimit::Over,
            Standing::AskedLate if late => unknown(),
            Standing::AskedLate => AtLimit::Over,
        }
    }
}
