//! Starting the program: a clean process in a session of its own.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::{Signal, set_parent_process_death_signal, setsid};

use super::setup::set_disposition;
use crate::protocol::Start;

/// The highest signal number on Linux.
const LAST_SIGNAL: i32 = 64;

/// Starts the program and returns its pid, which is also its session and process group.
///
/// # Errors
/// With the error of the system call that refused.
pub(super) fn start(start: Start, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<u32> {
    let mut argv = start.argv.into_iter().map(OsString::from);
    let mut command = Command::new(PathBuf::from(start.file));
    if let Some(name) = argv.next() {
        command.arg0(name);
    }
    command
        .args(argv)
        .env_clear()
        .envs(start.env.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
        .current_dir(PathBuf::from(start.cwd))
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr);
    // SAFETY: the closure runs between fork and exec and only makes system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(detach) };
    // The handle is dropped on purpose: the keeper reaps all its children itself.
    Ok(command.spawn()?.id())
}

/// Makes the new process what a shell's child would be: default signals, nothing blocked; and the leader of its own session.
fn detach() -> io::Result<()> {
    setsid()?;
    // The program dies with its keeper even if nobody is left to clear up after both.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    for signal in 1..=LAST_SIGNAL {
        // SIGKILL, SIGSTOP and the two of the C library refuse, which is what they are for.
        set_disposition(signal, libc::SIG_DFL);
    }
    unblock_signals()
}

fn unblock_signals() -> io::Result<()> {
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `none` is initialised by sigemptyset before sigprocmask reads it.
    let done = unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut())
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
