//! How far the clock of the far end is from the clock here.
//!
//! As NTP does it (RFC 5905, section 8): of several questions, the one whose answer took least is believed; the far clock was read somewhere between the
//! question and the answer, so that half the way is the most that the offset can be wrong by.

use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

/// What a run's folder at the far end says of the reader's clock.
const NOTED: &str = "reader-clock.json";

/// The offset of the far clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Offset {
    /// What the far clock shows more than the clock here.
    pub ahead_ns: i64,
    /// The most that this can be wrong by.
    pub error_ns: u64,
}

impl Offset {
    /// The offset by one question: asked and answered by the clock here, and what the far clock showed.
    #[must_use]
    pub fn of(asked_ns: u64, far_ns: u64, answered_ns: u64) -> Self {
        let way = answered_ns.saturating_sub(asked_ns);
        let middle = asked_ns + way / 2;
        Self { ahead_ns: far_ns.wrapping_sub(middle).cast_signed(), error_ns: way.div_ceil(2) }
    }

    /// The better known of two.
    #[must_use]
    pub fn better(self, other: Self) -> Self {
        if other.error_ns < self.error_ns { other } else { self }
    }

    /// Notes it in the folder of a run at the far end, so that all that is ever told of the run has the same times.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn note(self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        super::whole::replace(&folder.join(NOTED), &serde_json::to_vec(&self)?)
    }

    /// The one that a run has noted.
    #[must_use]
    pub fn noted(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(NOTED)).ok()?).ok()
    }

    /// A time of the far clock as the clock here has it.
    #[must_use]
    pub fn here(self, far_ns: u64) -> u64 {
        far_ns.saturating_add_signed(self.ahead_ns.saturating_neg())
    }
}

#[cfg(test)]
mod tests {
    use super::Offset;

    #[test]
    fn the_shortest_way_tells_the_offset_with_its_error() {
        // The far clock is 1000 ahead; it was read 30 after the question, and the answer took 70 more.
        let one = Offset::of(5_000, 6_030, 5_100);
        assert_eq!((one.ahead_ns, one.error_ns), (980, 50));
        let other = Offset::of(9_000, 9_990, 9_011);
        assert_eq!((other.ahead_ns, other.error_ns), (985, 6));
        assert_eq!(one.better(other), other);
        assert_eq!(other.better(one), other);
        assert_eq!(other.here(9_990), 9_005);
        let behind = Offset::of(1_000_000, 10, 1_000_002);
        assert_eq!((behind.ahead_ns, behind.here(10)), (-999_991, 1_000_001));
    }
}
