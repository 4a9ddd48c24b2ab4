//! Starting the program: a clean process in a session of its own.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, set_parent_process_death_signal, setsid};

use super::setup::set_disposition;
use crate::namespace::{Layout, Namespace, Step, StepReport};
use crate::protocol::{Bytes, Start};

/// The highest signal number on Linux.
const LAST_SIGNAL: i32 = 64;

/// Starts the program and returns its pid, which is also its session and process group.
///
/// # Errors
/// With the error of the system call that refused.
pub(super) fn start(start: Start, stdin: Option<OwnedFd>, stdout: OwnedFd, stderr: OwnedFd) -> Result<u32, NotStarted> {
    let cwd = PathBuf::from(start.cwd);
    let private = start.namespace.map(|mounts| Private::new(&mounts.into(), &cwd)).transpose()?;
    let mut argv = start.argv.into_iter().map(OsString::from);
    let mut command = Command::new(PathBuf::from(start.file));
    if let Some(name) = argv.next() {
        command.arg0(name);
    }
    command
        .args(argv)
        .env_clear()
        .envs(start.env.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
        .current_dir(&cwd)
        .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
        .stdout(stdout)
        .stderr(stderr);
    if let Some(Private { layout, told, .. }) = &private {
        let (layout, told) = (Arc::clone(layout), told.try_clone()?);
        // SAFETY: the closure runs between fork and exec and only makes system calls; it allocates nothing and takes no lock.
        unsafe { command.pre_exec(move || layout.enter(&told)) };
    }
    // After the namespace, whose rights would take the parent-death signal away again.
    // SAFETY: the closure runs between fork and exec and only makes system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(detach) };
    let spawned = command.spawn();
    // The closure holds the writing end of the pipe.
    drop(command);
    match spawned {
        // The handle is dropped on purpose: the keeper reaps all its children itself.
        Ok(child) => Ok(child.id()),
        Err(error) => Err(NotStarted { error, step: private.and_then(Private::refused) }),
    }
}

/// Why the program was not started: the error, and the step of its private mounts that met it, if it was one.
#[derive(Debug)]
pub(super) struct NotStarted {
    pub(super) error: io::Error,
    pub(super) step: Option<(Step, Option<Bytes>)>,
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        Self { error, step: None }
    }
}

/// The namespace to make, and the pipe on which the child tells what refused.
struct Private {
    layout: Arc<Layout>,
    told: OwnedFd,
    heard: OwnedFd,
}

impl Private {
    fn new(namespace: &Namespace, cwd: &Path) -> io::Result<Self> {
        let (heard, told) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { layout: Arc::new(Layout::new(namespace, cwd)?), told, heard })
    }

    /// What the child told before it ended.
    fn refused(self) -> Option<(Step, Option<Bytes>)> {
        let Self { layout, told, heard } = self;
        drop(told);
        let report = StepReport::read(&heard)?;
        Some((report.step, layout.path_of(report.step, report.index).map(|path| path.as_os_str().into())))
    }
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
