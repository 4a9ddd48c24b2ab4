//! How a freshly started process becomes a keeper: session, subreaper, signals, descriptors.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::sockopt::socket_type;
use rustix::process::{getpid, set_child_subreaper, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout};

/// Signals that would end a keeper, or stop it, if they were not ignored.
const IGNORED: [i32; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGPIPE,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
];

/// What the near side handed over, and the descriptor that tells of dead children.
pub(super) struct Inherited {
    pub(super) control: OwnedFd,
    pub(super) child_ended: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Turns this process into a keeper.
///
/// Fails where standard input is not the socket of a near side, so that a person who types the hidden argument gets no keeper.
pub(super) fn become_keeper() -> io::Result<Inherited> {
    socket_type(stdin())?;
    close_strangers();
    for signal in IGNORED {
        set_disposition(signal, libc::SIG_IGN);
    }
    // Fails where this process already leads a session, which is just as well.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let child_ended = watch_children()?;
    let inherited = Inherited {
        control: fcntl_dupfd_cloexec(stdin(), 3)?,
        stdout: fcntl_dupfd_cloexec(stdout(), 3)?,
        stderr: fcntl_dupfd_cloexec(stderr(), 3)?,
        child_ended,
    };
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    // A keeper must not hold a directory that someone wants to unmount or remove.
    std::env::set_current_dir("/")?;
    Ok(inherited)
}

/// Closes what was inherited beyond the three standard streams: a keeper must not hold the caller's pipes and locks.
fn close_strangers() {
    // SAFETY: this is the start of `main` of a process that exists to be a keeper: no descriptor above 2 has an owner yet.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
    if closed == 0 {
        return;
    }
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<i32> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|&fd| fd > 2).collect();
    for fd in open {
        // SAFETY: as above; the descriptor of the listing itself is closed already, and closing it again only fails.
        unsafe { libc::close(fd) };
    }
}

/// Sets what a signal does, by the old call: no handler is ever installed here.
pub(super) fn set_disposition(signal: i32, disposition: libc::sighandler_t) {
    // SAFETY: `disposition` is SIG_IGN or SIG_DFL; no code of ours runs on a signal. Safe between fork and exec too.
    unsafe { libc::signal(signal, disposition) };
}

/// Blocks SIGCHLD and opens a descriptor that becomes readable when a child has ended.
fn watch_children() -> io::Result<OwnedFd> {
    set_disposition(libc::SIGCHLD, libc::SIG_DFL);
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is initialised by sigemptyset before it is used, and the calls only read it afterwards; the descriptor that
    // signalfd returns is new and owned by nobody else.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        match libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Empties a descriptor of [`watch_children`].
pub(super) fn drain(descriptor: impl AsFd) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        match rustix::io::read(&descriptor, &mut buffer) {
            Ok(0) | Err(Errno::AGAIN) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
