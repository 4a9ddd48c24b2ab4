//! When a program counts as ready: every named condition holds at the same time, whoever listens belongs to the trial's own tree, and it stays so
//! for a while.
//!
//! A server of somebody else that answers on the port is never a sign of readiness; it is reported instead. What each condition asks for stands
//! here; how it is looked at stands in the files beside.

pub(crate) mod address;
pub(crate) mod again;
pub(crate) mod checks;
pub(crate) mod command;
pub(crate) mod file;
pub(crate) mod generate;
pub(crate) mod http;
pub(crate) mod notify;
pub(crate) mod owner;
pub(crate) mod proof;
pub(crate) mod watch;

use std::path::PathBuf;
use std::time::Duration;

use regex::bytes::Regex;

pub use address::AddressError;
pub use proof::{CommandSeen, FileSeen, Generation, HttpAnswer, Levels, Notified, Readiness};

use crate::command::{Command, KeeperProgram};
use crate::output::OutputPaths;

/// How long everything must go on holding where nobody says otherwise: long enough for a program that dies with its last word to be dead.
pub const DEFAULT_STABLE: Duration = Duration::from_millis(250);

/// The conditions; all that are named must hold.
#[derive(Debug, Clone, Default)]
pub struct ReadySpec {
    /// Each of them matches some line of either stream.
    pub logs: Vec<Regex>,
    /// Each address answers as it should.
    pub http: Vec<HttpCheck>,
    /// A process of the tree listens on this TCP port, and nobody else at the same address.
    pub port: Option<u16>,
    /// This file is there, and was not, or was another, before the launch. Absolute, or relative to the program's directory.
    pub file: Option<PathBuf>,
    /// The program says `READY=1` to a socket at this path, or, where none can be made there, to one without a path.
    pub notify: Option<PathBuf>,
    /// A command ends with exit code 0; asked once the conditions above hold.
    pub command: Option<CommandCheck>,
    /// An OpenAI-compatible server generates; asked once the conditions above hold.
    pub generates: Option<GenerateCheck>,
    /// How long everything must go on holding; [`DEFAULT_STABLE`] where it is not said.
    pub stable: Option<Duration>,
}

/// An address and the answer that it must give.
#[derive(Debug, Clone)]
pub struct HttpCheck {
    /// The address, `http://`.
    pub url: String,
    /// The statuses that count; where there is none, 200 to 399.
    pub status: Vec<u16>,
    /// What the body must match.
    pub body: Option<Regex>,
}

impl HttpCheck {
    /// A check that takes any answer from 200 to 399.
    #[must_use]
    pub fn any(url: impl Into<String>) -> Self {
        Self { url: url.into(), status: Vec::new(), body: None }
    }
}

/// A command that finds out whether the program is ready, in a tree of its own.
#[derive(Debug, Clone)]
pub struct CommandCheck {
    /// What is run.
    pub command: Command,
    /// How to start its keeper.
    pub keeper: KeeperProgram,
    /// Where its output goes; each run overwrites the one before.
    pub output: OutputPaths,
    /// Secrets that it knows; stars are kept in their place.
    pub hidden: Vec<Vec<u8>>,
    /// It is killed when it takes longer.
    pub limit: Duration,
}

/// An OpenAI-compatible server that must complete a prompt.
#[derive(Debug, Clone)]
pub struct GenerateCheck {
    /// The server's address without `/v1`.
    pub url: String,
    /// The name that it must serve; where it is not said, the only one that it serves.
    pub model: Option<String>,
    /// What it is to complete.
    pub prompt: String,
}

/// Conditions that held once and do not hold any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lapse {
    /// Which, in words.
    pub why: String,
    /// Whether a server took the question and gave no answer in time.
    pub silent: bool,
}

impl Lapse {
    /// An answer came, and is not the one that is asked for.
    pub(crate) fn said(why: String) -> Self {
        Self { why, silent: false }
    }
}

/// What came of a question for a completion to a program that was ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It completed the prompt, in so long.
    Completed(Duration),
    /// It took the question, and gave no answer in time; in words.
    Silent(String),
    /// It gave another answer than a completion; in words.
    Failed(String),
    /// It was not asked, or nobody waited for the answer: why.
    Unasked(String),
}

/// A condition that cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ReadySpecError {
    /// An address cannot be asked.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There can be no socket for the program's word.
    #[error("make a socket for `notify`")]
    Notify(#[source] std::io::Error),
}

impl ReadySpec {
    /// Checks that every condition can be checked, without a program.
    ///
    /// # Errors
    /// When an address is not one that can be asked.
    pub fn check(&self) -> Result<(), ReadySpecError> {
        for check in &self.http {
            address::HttpTarget::parse(&check.url)?;
        }
        if let Some(generates) = &self.generates {
            generate::Server::of(generates)?;
        }
        Ok(())
    }

    /// Whether no condition is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { logs, http, port, file, notify, command, generates, stable: _ } = self;
        logs.is_empty()
            && http.is_empty()
            && port.is_none()
            && file.is_none()
            && notify.is_none()
            && command.is_none()
            && generates.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::{GenerateCheck, HttpCheck, ReadySpec};

    #[test]
    fn what_cannot_be_asked_is_refused_with_the_reason() {
        let told =
            |url: &str| ReadySpec { http: vec![HttpCheck::any(url)], ..ReadySpec::default() }.check().map_err(|error| error.to_string());
        assert!(told("https://127.0.0.1/").is_err_and(|text| text.contains("only http://")));
        assert!(told("/health").is_err_and(|text| text.contains("only http://")));
        assert!(told("http://a b/").is_err_and(|text| text.contains("read the address")));
        let generates = GenerateCheck { url: "https://127.0.0.1".to_owned(), model: None, prompt: "x".to_owned() };
        assert!(ReadySpec { generates: Some(generates), ..ReadySpec::default() }.check().is_err());
        assert!(ReadySpec::default().check().is_ok() && ReadySpec::default().is_empty());
    }
}
