//! Where the streams of a trial's program lead: to files, line by line, or to descriptors that it is given as they are.

use std::os::fd::OwnedFd;
use std::path::Path;

use super::pump::STREAMS;
use crate::cancel::Canceller;
use crate::command::{Command, KeeperProgram};
use crate::namespace::Namespace;
use crate::output::capture::Capture;
use crate::output::lines::LineReader;
use crate::output::{OutputError, OutputPaths};

/// Descriptors of the caller that a program gets as its own: a terminal stays a terminal, and nothing stands between.
#[derive(Debug)]
pub struct Inherited {
    /// Its standard input.
    pub stdin: OwnedFd,
    /// Its standard output.
    pub stdout: OwnedFd,
    /// Its standard error.
    pub stderr: OwnedFd,
}

/// Everything that makes a trial whose program has the caller's streams: no line of it is seen here.
#[derive(Debug)]
pub struct InheritingSpec {
    /// What is run.
    pub command: Command,
    /// How to start the keeper.
    pub keeper: KeeperProgram,
    /// The streams.
    pub streams: Inherited,
    /// The flag that interrupts the wait for events.
    pub canceller: Canceller,
    /// What the program's processes see otherwise than everybody else.
    pub namespace: Option<Namespace>,
}

/// The program's ends of its streams, and what is read at the other ends.
pub(super) struct Streams {
    /// Nothing where `None`.
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) captures: [Capture; 2],
    pub(super) readers: [LineReader; 2],
}

impl Streams {
    /// Streams that are kept in files.
    pub(super) fn kept(output: &OutputPaths, hidden: &[Vec<u8>]) -> Result<Self, OutputError> {
        let (stdout, stdout_end) = Capture::create(&output.stdout, hidden)?;
        let (stderr, stderr_end) = Capture::create(&output.stderr, hidden)?;
        let readers = [
            LineReader::open(STREAMS[0], &output.stdout, stdout.shared())?,
            LineReader::open(STREAMS[1], &output.stderr, stderr.shared())?,
        ];
        Ok(Self { stdin: None, stdout: stdout_end, stderr: stderr_end, captures: [stdout, stderr], readers })
    }

    /// Streams of the caller.
    pub(super) fn inherited(streams: Inherited) -> Result<Self, OutputError> {
        let captures = [Capture::of_nothing(), Capture::of_nothing()];
        let nothing = Path::new("/dev/null");
        let readers =
            [LineReader::open(STREAMS[0], nothing, captures[0].shared())?, LineReader::open(STREAMS[1], nothing, captures[1].shared())?];
        Ok(Self { stdin: Some(streams.stdin), stdout: streams.stdout, stderr: streams.stderr, captures, readers })
    }
}
