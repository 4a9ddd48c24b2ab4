//! The statistics against the committed vectors: every group that is a computation. Tolerances are those of the file's `meta`: 1e-9, 1e-6 for a
//! supremum found on a grid. Simulated groups are documentation and not asserted.

#[path = "stats_vectors/fixture.rs"]
mod fixture;
#[path = "stats_vectors/metrics.rs"]
mod metrics;
#[path = "stats_vectors/outcomes.rs"]
mod outcomes;
#[path = "stats_vectors/plans.rs"]
mod plans;
