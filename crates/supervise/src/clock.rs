//! Wall-clock stamps that never go backwards within a trial: the wall clock is read once, the monotonic clock after that.
//!
//! Units: nanoseconds.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bystander_model::ids::TimeNs;
use rustix::time::{ClockId, clock_gettime};

/// Reads the monotonic clock, which all processes of a machine share.
pub(crate) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // The monotonic clock counts from the start of the machine: neither part is negative.
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Longer than any wait; what callers call for ever.
const FOR_EVER: Duration = Duration::from_secs(3600 * 24 * 365);

/// The instant after a wait, however long it is.
pub(crate) fn after(wait: Duration) -> Instant {
    Instant::now() + wait.min(FOR_EVER)
}

/// One reading of both clocks, from which later stamps are derived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    wall_ns: u64,
    monotonic_ns: u64,
}

impl Clock {
    /// Reads both clocks.
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX), monotonic_ns: monotonic_ns() }
    }

    /// The stamp of this instant.
    pub(crate) fn now(&self) -> TimeNs {
        self.at(monotonic_ns())
    }

    /// The stamp of an instant of the monotonic clock, also one before the start.
    pub(crate) fn at(&self, monotonic_ns: u64) -> TimeNs {
        TimeNs(self.wall_ns.saturating_add_signed(monotonic_ns.wrapping_sub(self.monotonic_ns).cast_signed()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Clock, after};

    #[test]
    fn stamps_keep_the_distance_of_the_monotonic_clock() {
        let clock = Clock { wall_ns: 1_000_000, monotonic_ns: 500 };
        assert_eq!(clock.at(600).0, 1_000_100);
        assert_eq!(clock.at(400).0, 999_900);
    }

    #[test]
    fn a_wait_without_end_is_no_overflow() {
        assert!(after(Duration::MAX) > after(Duration::from_secs(1)));
    }
}
