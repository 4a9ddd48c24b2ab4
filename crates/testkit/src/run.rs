//! The command, started in a world: its environment, its streams, its end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::kill;
use crate::terminal::OnTerminal;
use crate::wait::{LIMIT, until};

/// A command that is about to be started.
#[derive(Debug)]
pub struct Run {
    command: Command,
    /// Standard output and standard error go to `NAME.out` and `NAME.err`.
    name: PathBuf,
    /// Where its process is remembered.
    pids: Arc<Mutex<Vec<u32>>>,
}

/// A command that runs. It is killed when it is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    name: PathBuf,
    started: Instant,
    ended: bool,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

impl Run {
    pub(crate) fn new(command: Command, name: PathBuf, pids: Arc<Mutex<Vec<u32>>>) -> Self {
        Self { command, name, pids }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes a variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// Where it cannot be started.
    #[must_use]
    pub fn start(mut self) -> Running {
        let file = |extension: &str| File::create(self.name.with_extension(extension)).expect("a file for a stream");
        self.command.stdin(Stdio::null()).stdout(file("out")).stderr(file("err"));
        let started = Instant::now();
        let child = self.command.spawn().unwrap_or_else(|error| panic!("{:?}: {error}", self.command));
        self.pids.lock().expect("no test panics here").push(child.id());
        Running { child, name: self.name, started, ended: false }
    }

    /// Starts it on a terminal of so many columns.
    ///
    /// # Panics
    /// Where it cannot be started, or there is no terminal to be had.
    #[must_use]
    pub fn start_on_terminal(mut self, columns: u16) -> OnTerminal {
        let running = OnTerminal::start(&mut self.command, columns);
        self.pids.lock().expect("no test panics here").push(running.pid());
        running
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// Where it cannot be started, or does not end.
    #[must_use]
    pub fn run(self) -> Ran {
        self.start().wait()
    }
}

impl Running {
    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&mut self, signal: Signal) {
        // Not reaped yet, so the number is still its own.
        if !self.has_ended() {
            kill(self.child.id(), signal);
        }
    }

    /// Whether it has ended.
    ///
    /// # Panics
    /// Where that cannot be told.
    #[must_use]
    pub fn has_ended(&mut self) -> bool {
        self.ended = self.ended || self.child.try_wait().expect("a child can be waited for").is_some();
        self.ended
    }

    /// What it has written to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        read(&self.name.with_extension("err"))
    }

    /// How many bytes it has written to standard output so far.
    #[must_use]
    pub fn stdout_length(&self) -> u64 {
        fs::metadata(self.name.with_extension("out")).map_or(0, |found| found.len())
    }

    /// What it has written to both streams so far, one after the other.
    #[must_use]
    pub fn output(&self) -> String {
        read(&self.name.with_extension("out")) + &self.stderr()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// Where it does not end.
    #[must_use]
    pub fn wait(mut self) -> Ran {
        let limit = LIMIT * 5;
        let name = self.name.clone();
        until(&format!("the end of {}", name.display()), limit, || self.has_ended());
        let status = self.child.wait().expect("a child can be waited for");
        Ran {
            code: status.code(),
            signal: status.signal(),
            stdout: read(&name.with_extension("out")),
            stderr: read(&name.with_extension("err")),
            took: self.started.elapsed(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // It may have ended meanwhile; then there is nothing to do.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Ran {
    /// The one JSON object on standard output.
    ///
    /// # Panics
    /// Where standard output is anything else.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}):\n{}\n{}", self.stdout, self.stderr))
    }

    /// Asserts an exit code, and shows what was written where it is another.
    ///
    /// # Panics
    /// Where it is another.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "signal {:?}\n{}\n{}", self.signal, self.stdout, self.stderr);
        self
    }

    /// Asserts that standard error holds each of these texts, white space aside.
    ///
    /// # Panics
    /// Where one is missing.
    pub fn says(self, texts: &[&str]) -> Self {
        let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in texts {
            assert!(folded(&self.stderr).contains(&folded(text)), "{text:?} is missing in:\n{}", self.stderr);
        }
        self
    }
}

fn read(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
