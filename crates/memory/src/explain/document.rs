//! Everything that was found in the logs given, as one document.

use bystander_model::memory::{CauseClass, Explained, FORMAT, Server};

use super::{Disorder, Facts, Read, compare, judge, several, spoken};

/// What the reader of the document asked for beside.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Asked {
    /// The size of the card in GiB, where the log does not say it.
    pub card_gib: Option<f64>,
    /// The KV cache that is wanted, in GiB.
    pub want_gib: Option<f64>,
}

/// Explains what was read; `unread` says what could not be.
#[must_use]
pub fn document(logs: Vec<Read>, unread: Vec<String>, asked: &Asked) -> Explained {
    let mut unread = unread;
    let mut facts: Vec<Facts> = Vec::new();
    let mut servers: Vec<Server> = Vec::new();
    for log in logs {
        if let Some(disorder) = log.disorder {
            unread.push(out_of_order(&log.source, disorder));
            continue;
        }
        let judged: Vec<(Facts, Server)> = log.servers.into_iter().map(|facts| judged(facts, asked)).collect();
        let kept: Vec<(Facts, Server)> = judged.into_iter().filter(|(facts, server)| says_something(facts, server)).collect();
        if kept.is_empty() {
            unread.push(nothing_in(&log.source, log.lines, log.bytes, log.is_binary));
        }
        for (one, server) in kept {
            facts.push(one);
            servers.push(server);
        }
    }
    several::judge(&facts, &mut servers);
    let compared = match (&facts[..], &servers[..]) {
        ([a, b], [first, second]) => compare::compare((a, first), (b, second)),
        _ => Vec::new(),
    };
    Explained { format: FORMAT, servers, compared, unread }
}

fn judged(mut facts: Facts, asked: &Asked) -> (Facts, Server) {
    facts.asked = *asked;
    let server = judge(&facts);
    (facts, server)
}

/// Whether it is a server, or at least an error about memory.
fn says_something(facts: &Facts, server: &Server) -> bool {
    facts.engine != spoken::NOBODY || server.cause.as_ref().is_some_and(|cause| cause.class != CauseClass::Unknown)
}

fn nothing_in(source: &str, lines: u64, bytes: u64, is_binary: bool) -> String {
    if bytes == 0 {
        return format!("{source} is empty");
    }
    if is_binary {
        return format!("{source} is no text: bytes of zero stand in it, as in a binary file or in UTF-16");
    }
    format!("{source} has no line of SGLang or vLLM among its {lines}")
}

fn out_of_order(source: &str, disorder: Disorder) -> String {
    let (order, way) = match disorder {
        Disorder::Reversed => ("from the newest to the oldest", "turn it round (`tac`)"),
        Disorder::Mixed => ("in no order of time", "export it in the order of time"),
    };
    format!("the lines of {source} stand {order}, so what came first is not known: {way} and ask again")
}
