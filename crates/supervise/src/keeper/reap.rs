//! Reaping children, and the kernel's account of what they used.

use std::mem::MaybeUninit;
use std::time::Duration;

use crate::exit::{ExitStatus, Usage};

/// The answer to one attempt to reap.
#[derive(Debug)]
pub(super) enum Reaped {
    /// A child is no more.
    Child { pid: u32, status: ExitStatus, usage: Usage },
    /// No child has ended, or there is none.
    Nothing,
}

/// Reaps one child that has ended, without waiting.
pub(super) fn next() -> Reaped {
    loop {
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both pointers are valid for writing; all zeros is a valid rusage.
        let (pid, usage) = unsafe { (libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()), usage.assume_init()) };
        match u32::try_from(pid) {
            Ok(0) => return Reaped::Nothing,
            Ok(pid) => return Reaped::Child { pid, status: exit_status(status), usage: as_usage(&usage) },
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Reaped::Nothing,
        }
    }
}

/// Whether this process has no child, alive or dead; for a subreaper that means: no descendant at all.
pub(super) fn nothing_left() -> bool {
    // SAFETY: a null `infop` is allowed; WNOWAIT leaves every child as it is.
    let answer = unsafe { libc::waitid(libc::P_ALL, 0, std::ptr::null_mut(), libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) };
    answer == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD)
}

/// What all processes used that have been reaped here or by their own parents.
pub(super) fn usage_of_all() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for writing; all zeros is a valid rusage.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    as_usage(&usage)
}

fn exit_status(status: i32) -> ExitStatus {
    if libc::WIFSIGNALED(status) {
        ExitStatus::Signal { signal: libc::WTERMSIG(status), core_dumped: libc::WCOREDUMP(status) }
    } else {
        ExitStatus::Code(libc::WEXITSTATUS(status))
    }
}

fn as_usage(usage: &libc::rusage) -> Usage {
    // Linux counts resident memory in KiB here.
    Usage {
        max_rss_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        user: as_duration(usage.ru_utime),
        system: as_duration(usage.ru_stime),
    }
}

fn as_duration(time: libc::timeval) -> Duration {
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}
