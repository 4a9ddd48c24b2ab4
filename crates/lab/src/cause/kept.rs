//! A bounded memory of an unbounded log: the first so many, and the last so many.

use std::collections::VecDeque;

use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::{TimeNs, TrialId};
use bystander_model::reading::LogLine;

use super::clip::{KEPT, clip};

/// A line that was worth keeping, cut to a bearable length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLine {
    /// The stream.
    pub stream: Stream,
    /// Its number in the stream, from 1.
    pub number: u64,
    /// When it was read.
    pub time: TimeNs,
    /// What stands there.
    pub text: String,
}

impl KeptLine {
    /// Keeps a line.
    pub(crate) fn of(line: &LogLine<'_>, text: &str) -> Self {
        Self { stream: line.stream, number: line.number, time: line.time, text: clip(text.trim_end(), KEPT).to_owned() }
    }

    /// The line as evidence.
    #[must_use]
    pub fn evidence(&self, trial: TrialId) -> Evidence {
        Evidence::log(trial, self.stream, self.number, self.text.clone())
    }
}

/// The first `limit` and the last `limit` of what was pushed.
#[derive(Debug, Clone)]
pub(crate) struct Ends<T> {
    limit: usize,
    first: Vec<T>,
    last: VecDeque<T>,
    left_out: u64,
}

impl<T> Ends<T> {
    /// An empty memory.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, first: Vec::new(), last: VecDeque::new(), left_out: 0 }
    }

    /// Takes one more in, and lets the oldest of the later ones go.
    pub(crate) fn push(&mut self, item: T) {
        if self.first.len() < self.limit {
            self.first.push(item);
            return;
        }
        if self.last.len() == self.limit {
            self.last.pop_front();
            self.left_out += 1;
        }
        self.last.push_back(item);
    }

    /// What is kept so far, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.last)
    }

    /// What is left, in order, and how many are missing in the middle.
    pub(crate) fn into_parts(self) -> (Vec<T>, u64) {
        let mut all = self.first;
        all.extend(self.last);
        (all, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::Ends;

    #[test]
    fn both_ends_are_kept_and_the_middle_is_counted() {
        let mut ends = Ends::new(2);
        (0..7).for_each(|n| ends.push(n));
        assert_eq!(ends.into_parts(), (vec![0, 1, 5, 6], 3));
    }
}
