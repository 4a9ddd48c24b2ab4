//! What `explain` makes of a trial's lines, beside the reader that knows the hits of probes: the phase of an error and what to turn, and a pool that is of no
//! use though the server serves.

use std::sync::Arc;

use bystander_model::memory::{CauseClass, Server, State};
use bystander_model::reading::LogLine;

use super::log::Log;
use crate::explain::judge::of_little_use;
use crate::explain::{Reader as _, judge};
use crate::line::{Place, clean};

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

    /// The explanation of the last start.
    fn server(&self) -> Option<Server> {
        self.log.clone().finish().last().map(judge)
    }

    /// What to do about an error of the device, in a sentence; nothing where no rule knows it.
    pub(super) fn advice(&self) -> Option<String> {
        let server = self.server().filter(|server| server.state == State::Failed)?;
        server.cause.filter(|cause| !matches!(cause.class, CauseClass::Healthy | CauseClass::Unknown))?;
        let advice = server.advice.into_iter().next()?;
        Some(advice.text.trim_end_matches('.').to_owned())
    }

    /// Why a server that serves is of no use, with what to do.
    pub(super) fn starved(&self) -> Option<String> {
        of_little_use(self.server()?)
    }
}
