//! What `explain` makes of a trial's lines, beside the reader that knows the hits of probes: the phase of an error and what to turn, and a pool that is of no
//! use though the server serves.

use std::sync::Arc;

use bystander_model::memory::{Cause, CauseClass, Server, State};
use bystander_model::reading::{ErrorSeen, LogLine};

use super::error::Explained;
use super::log::Log;
use crate::explain::judge::of_little_use;
use crate::explain::{Facts, Reader as _, judge};
use crate::line::{Place, clean};

/// Errors of pools that the formula does not explain, by what they say.
const OF_POOLS: &[&str] = &[
    "Not enough GPU memory for hybrid",
    "Not enough memory for mamba",
    "state cache is too small to serve any requests",
    "SWA pool",
    "leaves no room for the full KV pool",
    "max_running_request is zero",
    "Prefill out of memory",
    "Decode out of memory",
    "alloc_req_slots runs out of memory",
];

/// Reads the same lines into facts.
#[derive(Debug, Clone, Default)]
pub(super) struct Beside {
    log: Log,
    sources: Vec<Arc<str>>,
}

impl Beside {
    /// Takes the next line.
    pub(super) fn line(&mut self, line: &LogLine<'_>) {
        let name = line.stream.name();
        let known = self.sources.iter().find(|source| &***source == name).cloned();
        let source = known.unwrap_or_else(|| {
            self.sources.push(name.into());
            name.into()
        });
        let place = Place { source, line: line.number };
        for cleaned in clean(line.text.as_bytes()) {
            self.log.line(&cleaned.at(&place));
        }
    }

    /// Whether the next line matters, whatever it holds.
    pub(super) fn wants_next(&self) -> bool {
        self.log.wants_next()
    }

    /// What the last start told.
    pub(super) fn last_start(&self) -> Option<Facts> {
        self.log.clone().finish().pop()
    }

    /// The explanation of the last start.
    fn server(&self) -> Option<Server> {
        self.last_start().as_ref().map(judge)
    }

    /// What an error is that only the rules of `explain` know: pools that hold nothing, and pools that ran full.
    pub(super) fn explain(&self, error: &ErrorSeen<'_>) -> Option<Explained> {
        let known = OF_POOLS.iter().any(|text| error.message.contains(text));
        let server = self.server().filter(|server| known && server.state == State::Failed)?;
        let advice = advice_of(&server).map_or_else(String::new, |advice| format!("; {advice}"));
        let cause = server.cause.filter(is_known)?;
        let text = format!("{}{advice}", cause.text.trim_end_matches('.'));
        Some(Explained { class: format!("memory.{}", cause.class.name()), text })
    }

    /// What to do about an error of the device, in a sentence; nothing where no rule knows it.
    pub(super) fn advice(&self) -> Option<String> {
        let server = self.server().filter(|server| server.state == State::Failed)?;
        server.cause.as_ref().filter(|cause| is_known(cause))?;
        advice_of(&server).map(str::to_owned)
    }

    /// Why a server that serves is of no use, with what to do.
    pub(super) fn starved(&self) -> Option<String> {
        of_little_use(self.server()?)
    }
}

/// Whether a rule knows the cause.
fn is_known(cause: &Cause) -> bool {
    !matches!(cause.class, CauseClass::Healthy | CauseClass::Unknown)
}

/// The best advice.
fn advice_of(server: &Server) -> Option<&str> {
    server.advice.first().map(|advice| advice.text.trim_end_matches('.'))
}
