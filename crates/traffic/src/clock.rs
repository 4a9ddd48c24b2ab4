//! One clock for every time stamp: nanoseconds of the system's monotonic clock, the same for all processes of the machine.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of the monotonic clock.
pub(crate) type Ns = u64;

/// A second, in nanoseconds.
pub(crate) const SECOND: Ns = 1_000_000_000;

/// The time now.
pub(crate) fn now() -> Ns {
    of(clock_gettime(ClockId::Monotonic))
}

/// The processor time of this process so far, in nanoseconds.
pub(crate) fn processor_time() -> Ns {
    of(clock_gettime(ClockId::ProcessCPUTime))
}

fn of(time: Timespec) -> Ns {
    // Neither clock goes below nothing.
    time.tv_sec.cast_unsigned() * SECOND + Ns::try_from(time.tv_nsec).unwrap_or_default()
}

/// Seconds as nanoseconds, at most some centuries.
pub(crate) fn ns(seconds: f64) -> Ns {
    // A float that is too great becomes the greatest number, and one that is none becomes 0.
    (seconds * SECOND as f64) as Ns
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(ns: Ns) -> f64 {
    ns as f64 / SECOND as f64
}
