//! What more would settle a question about outcomes, from what was seen. The wording belongs to the report.

use crate::stats::peeking::{PlanPower, plan_power};
use crate::stats::power::{OutcomeTest, launches_for_power};
use crate::stats::proportion::launches_to_bound;
use crate::stats::{StatsError, Tally};

/// The chance of a decision that "would settle it" stands for.
pub const SETTLING_POWER: f64 = 0.8;

/// The launches that would settle whether two arms differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Launches per arm in all.
    pub per_arm: u32,
    /// Launches that the arm still lacks.
    pub arm_missing: u32,
    /// Launches that the control still lacks.
    pub control_missing: u32,
}

/// Gives the launches per arm with which Fisher's two-sided test at `alpha` would show a difference with probability 0.8, if the arms
/// go on to fail at the rates observed.
///
/// `None` if an arm has no launches, both rates are the same, or 200 launches per arm would not do. Rates from few launches are guesses: say so.
///
/// # Errors
/// `alpha` outside (0, 1).
pub fn launches_to_settle(arm: Tally, control: Tally, alpha: f64) -> Result<Option<Needs>, StatsError> {
    let (Some(p1), Some(p0)) = (arm.proportion(), control.proportion()) else { return Ok(None) };
    let per_arm = launches_for_power(OutcomeTest::Fisher, p1, p0, alpha, SETTLING_POWER)?;
    Ok(per_arm.map(|per_arm| Needs {
        per_arm,
        arm_missing: per_arm.saturating_sub(arm.trials()),
        control_missing: per_arm.saturating_sub(control.trials()),
    }))
}

/// Gives the further launches, all without failure, that would put an arm's failure probability below `delta` at one-sided 0.05.
///
/// `None` once the arm has failed: this rule is for arms without failure.
///
/// # Errors
/// `delta` outside (0, 1).
pub fn clean_launches_to_bound(arm: Tally, delta: f64) -> Result<Option<u32>, StatsError> {
    let needed = launches_to_bound(delta, 0.05)?;
    Ok((arm.failures() == 0).then(|| needed.saturating_sub(arm.trials())))
}

/// Differences that a plan is described by: failure rates of the arm and its control.
const TYPICAL_DIFFERENCES: [(f64, f64); 4] = [(1.0, 0.0), (0.9, 0.1), (0.7, 0.0), (0.5, 0.0)];

/// What a plan shows of one true difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TypicalPower {
    /// The arm's failure probability.
    pub arm_rate: f64,
    /// The control's failure probability.
    pub control_rate: f64,
    /// The chance to show it, and the mean number of blocks used.
    pub plan: PlanPower,
}

/// Computes what a plan with looks up to `last_look` blocks shows of typical differences (1 against 0, 0.9 against 0.1, 0.7 and 0.5 against 0).
///
/// # Errors
/// `alpha` outside (0, 1), or more than 100 blocks.
pub fn typical_power(alpha: f64, last_look: u32) -> Result<Vec<TypicalPower>, StatsError> {
    let described = |(arm_rate, control_rate): (f64, f64)| {
        plan_power(alpha, last_look, arm_rate, control_rate).map(|plan| TypicalPower { arm_rate, control_rate, plan })
    };
    TYPICAL_DIFFERENCES.into_iter().map(described).collect()
}
