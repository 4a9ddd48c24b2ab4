//! What a two-sided Fisher test costs and gains when it is looked at after every block. Decisions during a run belong to `design`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::combinatorics::ln_choose;
use super::error::{StatsError, check_open_unit, check_probability};
use super::fisher::{reaches, two_sided_given_total};
use super::nuisance::NullProbability;

/// The first block after which a run is looked at.
pub const FIRST_LOOK: u32 = 2;
/// The most blocks that are enumerated.
pub const MAX_BLOCKS: u32 = 100;

/// Computes the worst-case false-positive rate of "Fisher's two-sided p is at most `alpha`, looked at after every block from 2 to `blocks`".
///
/// Exact: paths of failures per arm that are rejected at some look are counted by dynamic programming; given the total of failures they do not depend
/// on the shared failure probability, over which the supremum is taken (grid of 2001 points, refined). One launch per arm and block.
///
/// # Errors
/// `alpha` outside (0, 1), or more than [`MAX_BLOCKS`].
pub fn worst_case(alpha: f64, blocks: u32) -> Result<f64, StatsError> {
    check_open_unit("alpha", alpha)?;
    check_blocks(blocks)?;
    let mut paths = Paths::new();
    while paths.blocks < blocks {
        paths.next_block(alpha);
    }
    Ok(paths.worst_case())
}

/// Gives the most blocks that may be looked at, each from the second on, with the worst-case false-positive rate at most `alpha` itself.
///
/// 10 for 0.05 (0.0464; 11 would be 0.0505) and 12 for 0.0167 (0.0166). At most [`MAX_BLOCKS`], at least the blocks needed to reach `alpha` at all.
///
/// # Errors
/// `alpha` outside (0, 1).
pub fn cap(alpha: f64) -> Result<u32, StatsError> {
    check_open_unit("alpha", alpha)?;
    // A plan asks for the same two or three levels after every block, and the enumeration takes tens of milliseconds.
    static KNOWN: Mutex<BTreeMap<u64, u32>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(blocks) = known().get(&alpha.to_bits()) {
        return Ok(*blocks);
    }
    let blocks = enumerate_cap(alpha)?;
    known().insert(alpha.to_bits(), blocks);
    Ok(blocks)
}

fn enumerate_cap(alpha: f64) -> Result<u32, StatsError> {
    let mut paths = Paths::new();
    while paths.blocks < MAX_BLOCKS {
        paths.next_block(alpha);
        if paths.worst_case() > alpha {
            return Ok(paths.blocks - 1);
        }
    }
    Ok(MAX_BLOCKS)
}

/// What a plan with a look after every block from 2 on achieves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanPower {
    /// The probability that the difference is shown by the last block.
    pub power: f64,
    /// The mean number of blocks used, up to the last.
    pub expected_blocks: f64,
}

/// Computes the power and the mean length of a plan of up to `blocks` blocks when the arms fail with `p1` and `p0`.
///
/// Exact, forward over the failures per arm; curtailment is not counted and would only shorten it.
///
/// # Errors
/// A probability out of range, or more than [`MAX_BLOCKS`].
pub fn plan_power(alpha: f64, blocks: u32, p1: f64, p0: f64) -> Result<PlanPower, StatsError> {
    check_open_unit("alpha", alpha)?;
    check_probability("p1", p1)?;
    check_probability("p0", p0)?;
    check_blocks(blocks)?;
    let mut alive = Grid::start();
    let mut power = 0.0;
    let mut expected_blocks = 0.0;
    for n in 1..=blocks {
        expected_blocks += alive.total();
        alive = alive.step([(1.0 - p1) * (1.0 - p0), p1 * (1.0 - p0), (1.0 - p1) * p0, p1 * p0]);
        alive.remove_rejected(n, alpha, |_, probability| power += probability);
    }
    Ok(PlanPower { power, expected_blocks })
}

/// Weights over (failures of the first arm, failures of the second) after some blocks.
struct Grid {
    side: usize,
    weight: Vec<f64>,
}

impl Grid {
    fn start() -> Self {
        Self { side: 1, weight: vec![1.0] }
    }

    fn total(&self) -> f64 {
        self.weight.iter().sum()
    }

    /// One more block; `share` is for no failure, the first arm's, the second's, both.
    fn step(&self, share: [f64; 4]) -> Self {
        let side = self.side + 1;
        let mut weight = vec![0.0; side * side];
        for a in 0..self.side {
            for b in 0..self.side {
                let here = self.weight[a * self.side + b];
                weight[a * side + b] += share[0] * here;
                weight[(a + 1) * side + b] += share[1] * here;
                weight[a * side + b + 1] += share[2] * here;
                weight[(a + 1) * side + b + 1] += share[3] * here;
            }
        }
        Self { side, weight }
    }

    /// Empties the states that the look after block `n` rejects, handing each `(total failures, weight)` to `taken`.
    fn remove_rejected(&mut self, n: u32, alpha: f64, mut taken: impl FnMut(usize, f64)) {
        if n < FIRST_LOOK {
            return;
        }
        for total in 0..=2 * n {
            let (first, p) = two_sided_given_total(n, n, total);
            for (a, _) in (first..).zip(p).filter(|(_, p)| reaches(*p, alpha)) {
                let index = a as usize * self.side + (total - a) as usize;
                taken(total as usize, std::mem::take(&mut self.weight[index]));
            }
        }
    }
}

/// Numbers of paths, divided by 4 to the blocks: those never rejected by state, and those rejected by total of failures.
struct Paths {
    blocks: u32,
    alive: Grid,
    rejected: Vec<f64>,
}

impl Paths {
    fn new() -> Self {
        Self { blocks: 0, alive: Grid::start(), rejected: vec![0.0] }
    }

    fn next_block(&mut self, alpha: f64) {
        self.blocks += 1;
        self.alive = self.alive.step([0.25; 4]);
        // A rejected path goes on, so that all paths have the same length: two more launches with 0, 1, 1 or 2 failures.
        let mut rejected = vec![0.0; self.rejected.len() + 2];
        for (total, weight) in self.rejected.iter().enumerate() {
            rejected[total] += 0.25 * weight;
            rejected[total + 1] += 0.5 * weight;
            rejected[total + 2] += 0.25 * weight;
        }
        self.alive.remove_rejected(self.blocks, alpha, |total, weight| rejected[total] += weight);
        self.rejected = rejected;
    }

    fn worst_case(&self) -> f64 {
        let launches = 2 * self.blocks;
        let ln_all = f64::from(launches) * std::f64::consts::LN_2;
        let share = |(total, weight): (u32, &f64)| (weight.ln() + ln_all - ln_choose(launches, total)).exp().min(1.0);
        NullProbability::new((0..).zip(&self.rejected).map(share).collect()).sup()
    }
}

fn check_blocks(blocks: u32) -> Result<(), StatsError> {
    if blocks > MAX_BLOCKS { Err(StatsError::TooMany { most: u64::from(MAX_BLOCKS), given: u64::from(blocks) }) } else { Ok(()) }
}
