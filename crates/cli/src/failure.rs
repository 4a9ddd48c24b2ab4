//! Every way a command can fail: a kind that is the exit code, what happened, and the next step.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use bystander_model::diagnostic::Diagnostic;

/// Exit codes, a documented contract.
pub(crate) mod exit {
    /// The primary answer is given.
    pub(crate) const ANSWERED: u8 = 0;
    /// It is given, and something failed that `expect` declared to work.
    pub(crate) const FAILED: u8 = 1;
    /// The data cannot give it.
    pub(crate) const UNDETERMINED: u8 = 2;
    /// Bad input or usage; nothing was launched.
    pub(crate) const USAGE: u8 = 3;
    /// Bystander or its surroundings could not go on.
    pub(crate) const HARNESS: u8 = 4;
    /// The user stopped it.
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What was typed or written in a file.
    User,
    /// The machine: disk, permissions, a newer record.
    Environment,
    /// The user stopped it.
    Interrupted,
}

/// A command could not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    /// What failed, as the end of "failed to".
    pub(crate) message: String,
    /// Why, outermost first.
    pub(crate) causes: Vec<String>,
    /// What to do next.
    pub(crate) hints: Vec<String>,
    /// Problems with places in files.
    pub(crate) problems: Vec<Diagnostic>,
    /// Texts that problems are in and that lie in no file, such as what was typed.
    pub(crate) sources: Box<Sources>,
}

/// Texts by the names that problems have for them.
#[derive(Debug, Default)]
pub(crate) struct Sources(pub(crate) BTreeMap<PathBuf, String>);

impl Failure {
    pub(crate) fn user(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::User,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            problems: Vec::new(),
            sources: Box::default(),
        }
    }

    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self { kind: Kind::Environment, ..Self::user(message) }
    }

    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self { kind: Kind::Interrupted, ..Self::user(message) }
    }

    /// Adds an error and what it was caused by.
    pub(crate) fn because(mut self, error: &(dyn Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            self.causes.push(error.to_string());
            next = error.source();
        }
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn problems(mut self, problems: Vec<Diagnostic>) -> Self {
        self.problems = problems;
        self
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::User => exit::USAGE,
            Kind::Environment => exit::HARNESS,
            Kind::Interrupted => exit::INTERRUPTED,
        })
    }
}
