//! What somebody who asked a run to stop is told, from whichever thread, above what is drawn.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::MultiProgress;

use super::text::span;

/// A way to say something while something may be drawn; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Voice(Arc<Mutex<Option<MultiProgress>>>);

impl Voice {
    /// From now on these lines are drawn, or none.
    pub(super) fn above(&self, lines: Option<MultiProgress>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    /// Answers the `count`th request to stop; `grace` is what programs are given between SIGTERM and SIGKILL.
    pub(crate) fn stopping(&self, count: u32, grace: Duration) {
        if let Some(text) = words(count, grace) {
            self.say(&text);
        }
    }

    /// Says something to the person who watches.
    pub(crate) fn say(&self, text: &str) {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(lines) => lines.suspend(|| super::talk(text)),
            None => super::talk(text),
        }
    }
}

fn words(count: u32, grace: Duration) -> Option<String> {
    match count {
        1 if grace.is_zero() => Some("stopping: SIGKILL now; edits are undone, the record is kept".to_owned()),
        1 => Some(format!("stopping: SIGTERM now, SIGKILL in {}; Ctrl-C again: SIGKILL now", span(grace.as_secs_f64()))),
        2 => Some("stopping: SIGKILL now; edits are undone, the record is kept".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::words;

    #[test]
    fn each_request_is_answered_by_what_it_does() {
        let grace = Duration::from_secs(10);
        assert_eq!(words(1, grace).as_deref(), Some("stopping: SIGTERM now, SIGKILL in 10 s; Ctrl-C again: SIGKILL now"));
        assert_eq!(words(2, grace).as_deref(), Some("stopping: SIGKILL now; edits are undone, the record is kept"));
        assert_eq!(words(1, Duration::ZERO), words(2, grace), "where no time is given there is nothing to wait for");
        assert_eq!(words(3, grace), None);
    }
}
