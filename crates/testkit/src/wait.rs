//! Waiting for a condition, with a limit.

use std::time::{Duration, Instant};

/// Longer than anything in a test takes, on a busy machine too; reached only when something is broken.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(3);

/// Waits until a condition holds, and says how long it took.
///
/// # Panics
/// With `what`, when it does not hold within the limit.
pub fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(PAUSE);
    }
    started.elapsed()
}
