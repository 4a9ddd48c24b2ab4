//! The statistics against the committed vectors: every group that is a computation. Tolerances are those of the file's `meta`: 1e-9, 1e-6 for a
//! supremum found on a grid.
//!
//! Not asserted: the group of simulations, which is documentation, and within groups what nothing here computes: Barnard's test, posteriors, bootstrap
//! intervals, Brunner-Munzel. The readings of readiness patterns are tested where they are made (`lab/answers.rs`).

#[path = "stats_vectors/fixture.rs"]
mod fixture;
#[path = "stats_vectors/metrics.rs"]
mod metrics;
#[path = "stats_vectors/outcomes.rs"]
mod outcomes;
#[path = "stats_vectors/plans.rs"]
mod plans;
#[path = "stats_vectors/series.rs"]
mod series;
