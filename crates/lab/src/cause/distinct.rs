//! The first traceback of each sort, so that one which comes thousands of times drives no other out of a bounded memory.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::traceback::Traceback;

/// Sorts that are told apart.
const MOST: usize = 48;

/// The first traceback of each sort.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    seen: HashSet<u64>,
    first: Vec<Traceback>,
}

impl Distinct {
    /// Takes one in that is the first of its sort.
    pub(super) fn see(&mut self, traceback: &Traceback) {
        if self.first.len() < MOST && self.seen.insert(sort_of(traceback)) {
            self.first.push(traceback.clone());
        }
    }

    /// What was taken in, in order.
    pub(super) fn into_all(self) -> Vec<Traceback> {
        self.first
    }
}

/// The types and places of its exceptions, without their messages.
fn sort_of(traceback: &Traceback) -> u64 {
    let mut hasher = DefaultHasher::new();
    for raised in traceback.raised.iter().chain(&traceback.siblings) {
        raised.kind.hash(&mut hasher);
        let ends = raised.frames.first().into_iter().chain(raised.frames.iter().rev().take(3));
        ends.for_each(|frame| (&frame.file, frame.line).hash(&mut hasher));
    }
    hasher.finish()
}
