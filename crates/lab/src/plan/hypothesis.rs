//! Claims, and what must be seen if they are true.

use bystander_model::cell::Cell;
use bystander_model::outcome::Outcome;
use serde::{Deserialize, Serialize};

/// A claim and what it predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// The claim.
    pub claim: String,
    /// What must be seen if it is true.
    pub predicts: Vec<Prediction>,
}

/// One thing that a hypothesis predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Prediction {
    /// The outcome of every trial of a cell.
    Outcome {
        /// The cell.
        cell: Cell,
        /// The outcome; `failed` holds for a time-out too.
        outcome: Outcome,
    },
    /// Every trial of a cell fails, and for this reason.
    Cause {
        /// The cell.
        cell: Cell,
        /// The class, or the first parts of it: `memory` holds for `memory.host_oom`.
        cause: String,
    },
    /// The value of a metric in every launch of a cell that completes.
    Value {
        /// The cell.
        cell: Cell,
        /// The metric.
        metric: String,
        /// Where it lies.
        #[serde(flatten)]
        range: Bounds,
    },
    /// What one level of a factor does to a metric, against the baseline's level.
    Effect {
        /// The factor.
        factor: String,
        /// The level.
        level: String,
        /// The metric.
        metric: String,
        /// The direction.
        effect: Direction,
    },
}

impl Prediction {
    /// The cell it is about; `None` for an effect, which is about two.
    #[must_use]
    pub const fn cell(&self) -> Option<&Cell> {
        match self {
            Self::Outcome { cell, .. } | Self::Cause { cell, .. } | Self::Value { cell, .. } => Some(cell),
            Self::Effect { .. } => None,
        }
    }
}

/// Where a value is predicted to lie; a bound that is not stated does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// It is greater than this, or equal where both bounds are stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// It is less than this, or equal where both bounds are stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Bounds {
    /// Whether a value lies in it.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        match (self.low, self.high) {
            (Some(low), Some(high)) => (low..=high).contains(&value),
            (Some(low), None) => value > low,
            (None, Some(high)) => value < high,
            (None, None) => true,
        }
    }
}

/// What an effect does to a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It grows.
    Up,
    /// It shrinks.
    Down,
    /// It stays within the metric's margin.
    None,
}
