//! What may be wrong with a vLLM server, the surest first. One rule looks for one kind of cause.

mod context;
mod listing;
mod memory;
mod serving;
mod sizing;
mod start;

use super::line::{self, Failure};
use crate::explain::facts;
use crate::explain::{Facts, Rule};

/// The rules of vLLM.
pub(super) static RULES: &[Rule] = &[
    start::weights_of_nothing,
    start::share_not_free,
    start::others_freed,
    sizing::nothing_left,
    context::longer_than_cache,
    context::fewer_tokens,
    context::no_length,
    sizing::more_requests_than_states,
    memory::driver,
    memory::others_hold_the_card,
    memory::weights,
    memory::sampler,
    memory::graphs,
    memory::beside_the_share,
    memory::requests,
    listing::left_over,
    listing::graphs_by_difference,
    memory::little_left_for_graphs,
    serving::starved,
    serving::suggestion,
    serving::waits,
    serving::healthy,
];

/// The first failure in time that `pick` knows, with what it says.
pub(crate) use self::serving::{suggested_share, suggested_size};

fn first<T>(facts: &Facts, pick: impl Fn(Failure) -> Option<T>) -> Option<(&facts::Failure, T)> {
    let failure = cause(facts)?;
    line::failure(&said(failure)).and_then(pick).map(|found| (failure, found))
}

/// The failure that counts: the first one about memory or what looks like it, else the first.
fn cause(facts: &Facts) -> Option<&facts::Failure> {
    let known = |failure: &&facts::Failure| line::failure(&said(failure)).is_some();
    facts.failures.iter().find(known).or_else(|| facts.failure())
}

/// A failure as it was printed.
fn said(failure: &facts::Failure) -> String {
    if failure.kind.is_empty() { failure.message.clone() } else { format!("{}: {}", failure.kind, failure.message) }
}
