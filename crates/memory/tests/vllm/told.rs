//! A log, explained.

use bystander_memory::explain::{Explainer, judge};
use bystander_model::memory::{Advice, CauseClass, Direction, Rank, Server, TermName};

/// Every server of a log.
pub(crate) fn servers(log: &str) -> Vec<Server> {
    let mut explainer = Explainer::new("server.log");
    explainer.block(log.as_bytes());
    explainer.finish().servers.iter().map(judge).collect()
}

/// The only server of a log.
pub(crate) fn server(log: &str) -> Server {
    let mut all = servers(log);
    assert_eq!(all.len(), 1, "{all:#?}");
    assert_eq!(all[0].engine, "vllm");
    all.remove(0)
}

/// Its class.
pub(crate) fn class(server: &Server) -> CauseClass {
    server.cause.as_ref().unwrap_or_else(|| panic!("a cause: {server:#?}")).class
}

/// What it says of the cause.
pub(crate) fn text(server: &Server) -> &str {
    &server.cause.as_ref().expect("a cause").text
}

/// The first advice on a knob.
pub(crate) fn advice<'a>(server: &'a Server, knob: &str) -> &'a Advice {
    server.advice.iter().find(|advice| advice.knob == knob).unwrap_or_else(|| panic!("advice on {knob}: {:#?}", server.advice))
}

/// The advice on the share, which has to go one way.
pub(crate) fn share(server: &Server, direction: Direction) -> &Advice {
    let advice = advice(server, "gpu_memory_utilization");
    assert_eq!(advice.direction, direction, "{advice:#?}");
    advice
}

/// A term of a rank.
pub(crate) fn term(rank: &Rank, name: TermName) -> f64 {
    rank.terms.iter().find(|term| term.name == name).unwrap_or_else(|| panic!("{name:?}: {rank:#?}")).gib.value
}

/// Whether a number is another to so many decimals.
pub(crate) fn near(a: f64, b: f64, decimals: i32) -> bool {
    (a - b).abs() <= 0.5 * 10f64.powi(-decimals) + 1e-9
}

/// Fails with both numbers where they differ.
#[track_caller]
pub(crate) fn same(a: f64, b: f64, decimals: i32) {
    assert!(near(a, b, decimals), "{a} is not {b} to {decimals} decimals");
}

/// Every number that an explanation prints.
pub(crate) fn told_of(server: &Server) -> Vec<f64> {
    let figure = |figure: &bystander_model::budget::Figure| [figure.value, figure.low, figure.high];
    let mut all: Vec<f64> = server
        .ranks
        .iter()
        .flat_map(|rank| rank.terms.iter().map(|term| term.gib).chain(rank.unexplained_gib))
        .flat_map(|gib| figure(&gib))
        .collect();
    all.extend(server.advice.iter().filter_map(|advice| advice.break_even).flat_map(|even| figure(&even)));
    all.extend(server.advice.iter().filter_map(|advice| advice.recommended));
    all.extend(server.formula.iter().flat_map(|formula| figure(&formula.rest_gib)));
    all.extend(server.formula.iter().filter_map(|formula| formula.tokens).flat_map(|tokens| figure(&tokens)));
    all
}

/// Explains a log of one server with a card and a size of KV cache that the user names.
pub(crate) fn asked(log: &str, card_gib: Option<f64>, want_gib: Option<f64>) -> Server {
    let mut explainer = bystander_memory::explain::Explainer::new("server.log");
    explainer.block(log.as_bytes());
    let asked = bystander_memory::explain::Asked { card_gib, want_gib };
    bystander_memory::explain::document(vec![explainer.finish()], Vec::new(), &asked).servers.remove(0)
}
