//! Bad files: each with what is said about it.

mod claims;
mod conditions;
mod design;
mod instruments;
mod metrics;
mod plan;
mod program;
mod ready;
mod remote;
mod requests;
mod traffic;

use crate::shown::shown;

/// A probe under test.
fn probe(more: &str) -> String {
    shown(&format!("program.command = ['true']\nplan.baseline.instrument = 'none'\n[[probes]]\n{more}"))
}
