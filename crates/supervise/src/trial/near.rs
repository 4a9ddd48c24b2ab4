//! The near side's handle on its keeper process: start, orders, end.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{getpid, set_child_subreaper, setsid};

use crate::command::KeeperProgram;
use crate::identity::Held;
use crate::protocol::{Order, post, post_with};

/// How long a keeper may take to clear up; longer means that something hangs in the kernel.
const LIMIT: Duration = Duration::from_secs(10);
/// Between two looks, where the kernel cannot tell of an end.
const PAUSE: Duration = Duration::from_millis(2);

/// A keeper; dropping it makes it clear everything up, and waits for that.
#[derive(Debug)]
pub(super) struct KeeperProcess {
    child: Child,
    control: UnixStream,
    closed: bool,
}

impl KeeperProcess {
    /// Starts a keeper with the writing ends of the program's streams.
    ///
    /// This process becomes a subreaper first, so that what a killed keeper leaves comes here.
    pub(super) fn spawn(program: &KeeperProgram, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let (control, far) = UnixStream::pair()?;
        let mut command = Command::new(&program.exe);
        // What a list of processes shows.
        command.arg0("bystander-keeper");
        command.args(&program.args).stdin(Stdio::from(OwnedFd::from(far))).stdout(stdout).stderr(stderr);
        // From its first instruction on a Ctrl-C of the terminal must not reach it.
        let leave_terminal = || setsid().map(drop).map_err(io::Error::from);
        // SAFETY: the closure runs between fork and exec and makes one system call; it allocates nothing and takes no lock.
        unsafe { command.pre_exec(leave_terminal) };
        Ok(Self { child: command.spawn()?, control, closed: false })
    }

    /// The keeper's process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Another hold on the socket, for the thread that listens.
    pub(super) fn listener(&self) -> io::Result<UnixStream> {
        self.control.try_clone()
    }

    /// Gives an order; it fails where the keeper is gone.
    pub(super) fn order(&self, order: &Order) -> io::Result<()> {
        post(&self.control, order)
    }

    /// Gives the order to start, together with the standard input of the program; it has none where `None`.
    pub(super) fn order_start(&self, order: &Order, stdin: Option<&OwnedFd>) -> io::Result<()> {
        post_with(&self.control, order, stdin.map(AsFd::as_fd))
    }

    /// Reaps a keeper that has ended on its own.
    pub(super) fn reap(&mut self) {
        self.closed = true;
        // Where SIGCHLD is ignored in this process there is nothing to wait for.
        let _ = self.child.wait();
    }

    /// Lets the keeper clear everything up, and waits until it has.
    pub(super) fn close(&mut self) {
        if self.closed {
            return;
        }
        let _ = self.control.shutdown(Shutdown::Write);
        if !self.ends_within(LIMIT) {
            let _ = self.child.kill();
        }
        self.reap();
    }

    fn ends_within(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        if Held::open(self.child.id()).is_some_and(|held| held.wait_gone(limit)) {
            return true;
        }
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(PAUSE);
        }
        true
    }
}

impl Drop for KeeperProcess {
    fn drop(&mut self) {
        self.close();
    }
}
