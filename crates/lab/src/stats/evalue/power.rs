//! How long an e-process takes when the arms do differ: it depends on the order of the outcomes, so it is simulated, always from the same stream.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{GAMMA, TwoProportions};
use crate::stats::error::{StatsError, check_open_unit, check_probability};
use crate::stats::tally::Tally;

/// The most blocks that are simulated.
pub const MAX_BLOCKS: u32 = 300;
/// Simulated runs: the standard error of a power of 0.8 is 0.013.
const RUNS: u32 = 1000;

/// What was asked for, as bits: both rates, level, power.
type Question = [u64; 4];

/// Gives the blocks by which the e-process reaches `1/alpha` with probability `wanted`, when the arms fail with `p1` and `p0`, one launch each a block.
///
/// The quantile of the first block that does, of 1000 simulated runs from one fixed stream; `None` when [`MAX_BLOCKS`] are not enough.
///
/// # Errors
/// A probability out of range; `alpha` or `wanted` outside (0, 1).
pub fn blocks_for_power(p1: f64, p0: f64, alpha: f64, wanted: f64) -> Result<Option<u32>, StatsError> {
    check_probability("p1", p1)?;
    check_probability("p0", p0)?;
    check_open_unit("alpha", alpha)?;
    check_open_unit("power", wanted)?;
    // A report asks for the same few rates for every answer.
    static KNOWN: Mutex<BTreeMap<Question, Option<u32>>> = Mutex::new(BTreeMap::new());
    let question = [p1.to_bits(), p0.to_bits(), alpha.to_bits(), wanted.to_bits()];
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(blocks) = known().get(&question) {
        return Ok(*blocks);
    }
    let blocks = simulate(p1, p0, alpha, wanted)?;
    known().insert(question, blocks);
    Ok(blocks)
}

fn simulate(p1: f64, p0: f64, alpha: f64, wanted: f64) -> Result<Option<u32>, StatsError> {
    let outcomes = [Tally::new(0, 1)?, Tally::new(1, 1)?];
    let mut words = ChaCha8Rng::seed_from_u64(1);
    let mut fails = |p: f64| f64::from(words.next_u32()) / (f64::from(u32::MAX) + 1.0) < p;
    let threshold = 1.0 / alpha * (1.0 - 1e-9);
    let mut first: Vec<u32> = Vec::new();
    for _ in 0..RUNS {
        let mut process = TwoProportions::new(GAMMA);
        let crossed = (1..=MAX_BLOCKS).find(|_| {
            let (arm, control) = (outcomes[usize::from(fails(p1))], outcomes[usize::from(fails(p0))]);
            process.add(arm, control) >= threshold
        });
        first.extend(crossed);
    }
    first.sort_unstable();
    let enough = (wanted * f64::from(RUNS)).ceil() as usize;
    Ok(first.get(enough.saturating_sub(1)).copied())
}
