//! Signals to this process that were not looked at yet: while a command is followed they are passed on to it, and whatever else takes time ends by them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// Those of this process: once they are taken over, they never end it by themselves again.
static TAKEN: OnceLock<Pending> = OnceLock::new();

/// Signals that wait to be looked at, in their order.
#[derive(Default)]
pub(super) struct Pending {
    queue: Mutex<VecDeque<i32>>,
    came: Condvar,
    /// Whether there are any: what a link looks at while it waits.
    any: Arc<AtomicBool>,
}

impl Pending {
    /// Takes over SIGINT and its relatives.
    pub(super) fn take_over() -> Result<&'static Self, Failure> {
        if let Some(taken) = TAKEN.get() {
            return Ok(taken);
        }
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
            .map_err(|error| Failure::environment("failed to take over Ctrl-C").because(&error))?;
        let pending = TAKEN.get_or_init(Self::default);
        std::thread::spawn(move || signals.forever().for_each(|signal| pending.add(signal)));
        Ok(pending)
    }

    /// Those of this process, where they were taken over.
    pub(super) fn taken() -> Option<&'static Self> {
        TAKEN.get()
    }

    /// Adds one that came, or that did not reach what it was passed on to.
    pub(super) fn add(&self, signal: i32) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(signal);
        self.any.store(true, Ordering::SeqCst);
        self.came.notify_all();
    }

    /// Takes the first.
    pub(super) fn next(&self) -> Option<i32> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let first = queue.pop_front();
        self.any.store(!queue.is_empty(), Ordering::SeqCst);
        first
    }

    /// Whether there is one, or comes one within some time.
    pub(super) fn is_any_within(&self, wait: Duration) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.came.wait_timeout_while(queue, wait, |queue| queue.is_empty());
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_empty()
    }

    /// Whether there is one, as a link is told.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.any)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use super::Pending;

    #[test]
    fn the_flag_stands_until_the_last_one_is_taken() {
        let pending = Pending::default();
        assert!(!pending.is_any_within(Duration::ZERO) && pending.next().is_none());
        pending.add(2);
        pending.add(15);
        assert!(pending.is_any_within(Duration::from_secs(60)));
        assert_eq!(pending.next(), Some(2));
        assert!(pending.flag().load(Ordering::SeqCst));
        assert_eq!(pending.next(), Some(15));
        assert!(!pending.flag().load(Ordering::SeqCst) && !pending.is_any_within(Duration::ZERO));
    }
}
