//! Feeds logs to `explain` and looks at what it says.

use bystander_memory::explain::{Asked, Explainer, Read, document};
use bystander_model::memory::{Advice, CauseClass, Direction, Explained, Rank, Server, TermName};

/// Reads one log in blocks of a size.
pub(crate) fn read(name: &str, log: &[u8], block: usize) -> Read {
    let mut explainer = Explainer::new(name);
    log.chunks(block.max(1)).for_each(|block| explainer.block(block));
    explainer.finish()
}

/// Explains logs, each with its name.
pub(crate) fn explained(logs: &[(&str, &str)], asked: &Asked) -> Explained {
    document(logs.iter().map(|(name, log)| read(name, log.as_bytes(), 1 << 20)).collect(), Vec::new(), asked)
}

/// Explains a log of one server.
pub(crate) fn one(log: &str) -> Server {
    let mut explained = explained(&[("server.log", log)], &Asked::default());
    assert_eq!(explained.servers.len(), 1, "{explained:#?}");
    explained.servers.remove(0)
}

/// The class of the cause.
pub(crate) fn class(server: &Server) -> CauseClass {
    server.cause.as_ref().map_or_else(|| panic!("no cause: {server:#?}"), |cause| cause.class)
}

/// The advice on a knob.
pub(crate) fn advice<'a>(server: &'a Server, knob: &str) -> &'a Advice {
    let found = server.advice.iter().find(|advice| advice.knob == knob);
    found.unwrap_or_else(|| panic!("no advice on {knob}: {:#?}", server.advice))
}

/// The direction of the first advice.
pub(crate) fn direction(server: &Server) -> Direction {
    server.advice.first().unwrap_or_else(|| panic!("no advice: {server:#?}")).direction
}

/// A term of a rank, in GiB to two decimals.
pub(crate) fn term(rank: &Rank, name: TermName) -> Option<String> {
    rank.terms.iter().find(|term| term.name == name).map(|term| format!("{:.2}", term.gib.value))
}

/// Asserts that a figure's range holds a value.
pub(crate) fn holds(figure: bystander_model::budget::Figure, value: f64) {
    assert!(figure.low <= value && value <= figure.high, "{figure:?} does not hold {value}");
}
