//! One process held by a handle that a recycled pid can never stand in for, and signals through it.
//!
//! Whether it may be signalled is for callers to check between opening and sending: a check made while the handle is open
//! speaks of the process that the handle names, or of none.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// Turns a pid from `/proc` into the type of system calls; 0 and what does not fit are no process.
pub(crate) fn as_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// A handle on one process.
#[derive(Debug)]
pub(crate) struct Held {
    pid: Pid,
    /// `None` on kernels without process handles (before 5.3, or under a filter): there the pid alone must do.
    handle: Option<OwnedFd>,
}

impl Held {
    /// Opens a handle; `None` where no such process is left.
    pub(crate) fn open(pid: u32) -> Option<Self> {
        let pid = as_pid(pid)?;
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Some(Self { pid, handle: Some(handle) }),
            Err(Errno::NOSYS | Errno::PERM | Errno::MFILE | Errno::NFILE) => Some(Self { pid, handle: None }),
            Err(_gone) => None,
        }
    }

    /// Sends a signal; `false` where the process is gone or may not be signalled.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        match &self.handle {
            Some(handle) => pidfd_send_signal(handle, signal).is_ok(),
            None => kill_process(self.pid, signal).is_ok(),
        }
    }

    /// Waits until the process has ended; `false` where it has not within `limit`, or where this kernel cannot tell.
    pub(crate) fn wait_gone(&self, limit: Duration) -> bool {
        let Some(handle) = &self.handle else { return false };
        let limit = Timespec { tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX), tv_nsec: i64::from(limit.subsec_nanos()) };
        let mut waited = [PollFd::new(handle, PollFlags::IN)];
        matches!(poll(&mut waited, Some(&limit)), Ok(1..))
    }
}
