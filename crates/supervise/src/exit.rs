//! How a process ended, and what it used.
//!
//! Units: bytes and [`Duration`]s.

use std::fmt;
use std::time::Duration;

use bystander_model::ids::TimeNs;
use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It returned this code.
    Code(i32),
    /// A signal ended it.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Whether the kernel wrote a core dump.
        core_dumped: bool,
    },
}

impl ExitStatus {
    /// Whether it returned 0.
    #[must_use]
    pub const fn success(self) -> bool {
        matches!(self, ExitStatus::Code(0))
    }

    /// The code, for processes that returned one.
    #[must_use]
    pub const fn code(self) -> Option<i32> {
        match self {
            ExitStatus::Code(code) => Some(code),
            ExitStatus::Signal { .. } => None,
        }
    }

    /// The signal that ended the process. A code above 128 is a code: whether a shell says by it that a signal ended its command is for others to judge.
    #[must_use]
    pub const fn signal(self) -> Option<i32> {
        match self {
            ExitStatus::Signal { signal, .. } => Some(signal),
            ExitStatus::Code(_) => None,
        }
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ExitStatus::Code(code) => write!(f, "exit code {code}"),
            ExitStatus::Signal { signal, core_dumped } => {
                match signal_name(signal) {
                    Some(name) => write!(f, "signal {signal} ({name})")?,
                    None => write!(f, "signal {signal}")?,
                }
                f.write_str(if core_dumped { ", core dumped" } else { "" })
            }
        }
    }
}

/// The name of a signal, such as `SIGKILL`; `None` for real-time and unknown ones.
#[must_use]
pub const fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

/// What processes used by the kernel's account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The largest resident memory of any single process.
    pub max_rss_bytes: u64,
    /// Time on a processor in the program.
    pub user: Duration,
    /// Time on a processor in the kernel.
    pub system: Duration,
}

/// The end of the program itself; descendants may still run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub status: ExitStatus,
    /// When it was reaped.
    pub time_ns: TimeNs,
    /// What it and the children that it waited for used.
    pub usage: Usage,
}

/// The end of the whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeEnd {
    /// When the last process was reaped.
    pub time_ns: TimeNs,
    /// What all processes of the tree used.
    pub usage: Usage,
    /// How many times SIGKILL was sent to get there; 0 where all ended on their own or by SIGTERM.
    pub kills: u32,
}

#[cfg(test)]
mod tests {
    use super::ExitStatus;

    #[test]
    fn a_code_is_no_signal() {
        assert_eq!(ExitStatus::Signal { signal: 9, core_dumped: false }.signal(), Some(9));
        assert_eq!(ExitStatus::Code(137).signal(), None, "a program may end with any code");
    }

    #[test]
    fn the_text_names_the_signal() {
        assert_eq!(ExitStatus::Signal { signal: 11, core_dumped: true }.to_string(), "signal 11 (SIGSEGV), core dumped");
        assert_eq!(ExitStatus::Code(3).to_string(), "exit code 3");
    }
}
