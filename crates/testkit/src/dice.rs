//! Random choices of a test that can be had again: the seed is told, and `BYSTANDER_TEST_SEED` sets it.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A source of random choices with a known seed (SplitMix64, Steele, Lea and Flood 2014).
#[derive(Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// Takes the seed of `BYSTANDER_TEST_SEED`, or one that nobody chose, and tells it on standard error.
    #[must_use]
    pub fn new(test: &str) -> Self {
        let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| u64::from(since.subsec_nanos()));
        let seed = std::env::var("BYSTANDER_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(fresh);
        // Past the harness, which keeps what passing tests print: a test that hangs must have told its seed.
        let _ = writeln!(std::io::stderr(), "{test}: BYSTANDER_TEST_SEED={seed}");
        Self { state: seed }
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    /// A time below `bound`.
    pub fn time_below(&mut self, bound: Duration) -> Duration {
        let bound = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.below(bound))
    }
}
