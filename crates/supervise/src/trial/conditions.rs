//! What the owner of a trial knows of its readiness: the lines it hands on, and what the thread of readiness has told.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bystander_model::ids::TimeNs;

use crate::exit::Exit;
use crate::output::{Line, Lines};
use crate::ready::checks::{Checks, Memory, Subject};
use crate::ready::generate::Server;
use crate::ready::{GenerateCheck, Lapse, Reply, again};

/// Looks end at moments that nobody tells: after so many of them one has begun and ended.
const WHOLE_LOOKS: u64 = 2;
/// How long such a look is waited for, where a server may take its time to answer.
const LOOK: Duration = Duration::from_secs(1);
/// The same where a line was told late, and must be looked at.
const LATE_LOOK: Duration = Duration::from_secs(15);
/// How much longer than it must hold it may take until somebody has seen whether it did.
const SLACK: Duration = Duration::from_secs(15);

/// Where a program stands at its time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Everything held by then and may last, or nobody has looked since.
    Open,
    /// Something did not hold by then.
    Over,
    /// What costs something was asked too late to tell, or only afterwards.
    AskedLate,
}

/// The conditions of readiness and what is known of them.
#[derive(Debug)]
pub(super) struct Conditions {
    checks: Arc<Checks>,
    subject: Subject,
    /// When all held last; whether that lasted is in `told`.
    held: Option<TimeNs>,
    /// Since when all hold now; whether that lasts is not known yet.
    holding: Option<TimeNs>,
    /// Why they do not hold, as far as was last seen.
    missing: Option<String>,
    told: bool,
}

impl Conditions {
    pub(super) fn new(checks: Arc<Checks>, subject: Subject) -> Self {
        Self { checks, subject, held: None, holding: None, missing: None, told: false }
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
        self.holding = Some(since);
    }

    /// Something does not hold.
    pub(super) fn missing(&mut self, why: String) {
        self.missing = Some(why);
        self.holding = None;
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

    /// Whether all that is to be said in lines was said until then.
    pub(super) fn said_by(&self, at: TimeNs) -> bool {
        self.checks.said().is_some_and(|said| said <= at)
    }

    /// How many looks at the conditions have ended.
    pub(super) fn looks(&self) -> u64 {
        self.checks.looks.load(Ordering::SeqCst)
    }

    /// Where it stands at a limit, after the last line before it was told: `since` then, when there had been so many `looks`. `late` says that lines
    /// that were asked for came by then, and were told after it.
    pub(super) fn standing(&self, limit: TimeNs, looks: u64, since: Duration, late: bool) -> Standing {
        if self.told {
            return Standing::Over;
        }
        if let Some(holding) = self.holding {
            let lasts = since < self.checks.stable.saturating_add(SLACK);
            return match holding <= limit {
                true if lasts => Standing::Open,
                true => Standing::Over,
                false => Standing::AskedLate,
            };
        }
        if self.checks.asks_costly.load(Ordering::SeqCst) {
            return Standing::AskedLate;
        }
        let patience = if late { LATE_LOOK } else { LOOK };
        if self.looks() < looks + WHOLE_LOOKS && since < patience { Standing::Open } else { Standing::Over }
    }

    pub(super) fn holding(&self) -> Option<TimeNs> {
        self.holding.filter(|_| !self.told)
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

    pub(super) fn still_hold(&self) -> Result<(), Lapse> {
        let mut memory = Memory::new();
        self.checks.look(&self.subject, &mut memory, true).map_err(|missing| Lapse { why: missing.why, silent: memory.silent })?;
        let Some(server) = &self.checks.server else { return Ok(()) };
        server.still_lists(&memory.agent).map_err(Lapse::from)
    }
    pub(super) fn still_completes(&self, check: Option<&GenerateCheck>, limit: Duration, is_over: &dyn Fn() -> bool) -> Reply {
        let server = match (check, &self.checks.server) {
            (Some(check), _) => match Server::of(check) {
                Ok(server) => server,
                Err(error) => return Reply::Unasked(error.to_string()),
            },
            (None, Some(server)) => server.clone(),
            (None, None) => return Reply::Unasked("no condition of readiness asks for a completion".to_owned()),
        };
        again::ask(&self.checks, &self.subject, server, limit, is_over)
    }
}
