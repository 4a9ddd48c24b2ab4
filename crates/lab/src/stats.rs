//! Pure statistics: numbers in, numbers out, each with its source. No I/O, no wording, no knowledge of trials or experiments.
//!
//! Outcomes are compared as a [`Tally`] per arm (failures of trials); metrics as one value per launch, because the launch is the replicate.
//! All levels and p-values are probabilities, not per cent.

pub mod boschloo;
pub(crate) mod combinatorics;
pub mod equivalence;
mod error;
pub mod evalue;
pub mod fisher;
mod interval;
pub mod kalibera_jones;
pub mod location;
pub mod multiplicity;
mod nuisance;
pub mod peeking;
pub mod permutation;
pub mod planning;
pub mod power;
pub mod proportion;
pub(crate) mod quantile;
pub mod ranks;
pub mod sign;
pub mod spikes;
pub mod steady;
pub mod strata;
pub mod student;
mod tally;

pub use error::StatsError;
pub use fisher::ExactP;
pub use interval::Interval;
pub use tally::{MAX_TRIALS, Tally};
