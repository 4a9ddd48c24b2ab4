//! What the owner of a trial knows of its readiness: the lines it hands on, and what the thread of readiness has told.

use std::sync::Arc;

use bystander_model::ids::TimeNs;

use crate::exit::Exit;
use crate::output::{Line, Lines};
use crate::ready::checks::{Checks, Memory, Subject};

/// The conditions of readiness and what is known of them.
#[derive(Debug)]
pub(super) struct Conditions {
    checks: Arc<Checks>,
    subject: Subject,
    /// When all held last; whether that lasted is in `told`.
    held: Option<TimeNs>,
    /// Why they do not hold, as far as was last seen.
    missing: Option<String>,
    told: bool,
}

impl Conditions {
    pub(super) fn new(checks: Arc<Checks>, subject: Subject) -> Self {
        Self { checks, subject, held: None, missing: None, told: false }
    }

    /// The program wrote a line.
    pub(super) fn line(&self, line: &Line) {
        if !self.told {
            self.checks.line(line);
        }
    }

    /// The program wrote lines.
    pub(super) fn lines(&self, lines: &Lines) {
        if !self.told {
            self.checks.lines(lines);
        }
    }

    /// Everything holds since then.
    pub(super) fn held(&mut self, since: TimeNs) {
        self.held = Some(since);
    }

    /// Something does not hold.
    pub(super) fn missing(&mut self, why: String) {
        self.missing = Some(why);
    }

    /// It is ready; whether that is news.
    pub(super) fn tell(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// The program has ended. Where lines are all that is asked, it can have said them faster than anybody could look.
    pub(super) fn ended(&mut self) {
        if self.held.is_none() {
            self.held = self.checks.said_by_lines_alone();
        }
    }

    pub(super) fn held_ns(&self) -> Option<TimeNs> {
        self.held.filter(|_| !self.told)
    }

    pub(super) fn unready(&self, exit: Option<&Exit>) -> Option<String> {
        if self.told {
            return None;
        }
        Some(match (self.held, exit) {
            (Some(held), Some(exit)) => format!(
                "every condition held {:.2} s before it ended, and must go on holding for {} s",
                exit.time_ns.seconds_since(held).max(0.0),
                self.checks.stable.as_secs_f64()
            ),
            _ => self.missing.clone().unwrap_or_else(|| "nobody has looked yet".to_owned()),
        })
    }

    pub(super) fn still_hold(&self) -> Result<(), String> {
        let held = self.checks.look(&self.subject, &mut Memory::new(), true);
        held.map(drop).map_err(|missing| missing.why)
    }
}
