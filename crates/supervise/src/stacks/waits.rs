//! What a thread waits for, as the kernel has it: `/proc/PID/task/TID/{stat,status,syscall,wchan}`.
//!
//! Only system calls whose meaning is certain are told; anything else is [`WaitKind::Unknown`], and nothing follows from that.

use std::fs;

use libc::c_long;

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitKind {
    /// It runs, or is next to run.
    Running,
    /// It was stopped by a signal or a debugger.
    Stopped,
    /// It waits in the kernel and cannot be interrupted, mostly for a disk.
    Disk,
    /// A lock, or bytes from a pipe, socket or file, with no limit of time.
    Lock,
    /// Bytes from a pipe, socket or file, with no limit of time.
    Bytes,
    /// Connections or events, with no limit of time: what an idle server does.
    Events,
    /// The end of a child.
    Child,
    /// A clock: it goes on by itself.
    Clock,
    /// What it waits for cannot be told.
    Unknown,
}

impl WaitKind {
    /// The state in a few words that fit after "it".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            WaitKind::Running => "runs",
            WaitKind::Stopped => "is stopped",
            WaitKind::Disk => "waits in the kernel and cannot be interrupted",
            WaitKind::Lock => "waits for a lock, with no limit of time",
            WaitKind::Bytes => "waits for bytes, with no limit of time",
            WaitKind::Events => "waits for connections or events",
            WaitKind::Child => "waits for a child to end",
            WaitKind::Clock => "waits with a limit of time",
            WaitKind::Unknown => "waits",
        }
    }
}

/// How a thread waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// For what.
    pub kind: WaitKind,
    /// Where in the kernel, such as `futex_wait_queue`; empty where that may not be known.
    pub at: String,
    /// How often it has begun to wait so far: unchanged means that it is the same wait.
    pub times: u64,
}

/// The threads of a process.
pub(super) struct Threads {
    pub(super) main: Wait,
    /// Whether one of them runs, or is next to run.
    pub(super) runs: bool,
    /// Those that a clock will wake, with how often each has begun to wait.
    pub(super) clocks: Vec<(u32, u64)>,
    /// What each of them waits for.
    pub(super) waits: Vec<(u32, WaitKind)>,
}

/// How the threads of a process wait.
pub(super) fn of(pid: u32) -> Threads {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let ids = tasks.filter_map(|task| task.file_name().to_str()?.parse::<u32>().ok());
    let waits: Vec<(u32, Wait)> = ids.map(|id| (id, thread(pid, id))).collect();
    let clocks = waits.iter().filter(|(_, wait)| wait.kind == WaitKind::Clock).map(|(id, wait)| (*id, wait.times)).collect();
    let runs = waits.iter().any(|(_, wait)| wait.kind == WaitKind::Running);
    let kinds = waits.iter().map(|(id, wait)| (*id, wait.kind)).collect();
    let main = waits.into_iter().find(|(id, _)| *id == pid).map(|(_, wait)| wait);
    Threads { main: main.unwrap_or_else(|| thread(pid, pid)), runs, clocks, waits: kinds }
}

fn state(pid: u32, thread: u32) -> Option<char> {
    let text = fs::read(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
    let end = text.iter().rposition(|&b| b == b')')?;
    std::str::from_utf8(text.get(end + 1..)?).ok()?.trim_start().chars().next()
}

fn thread(pid: u32, thread: u32) -> Wait {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{thread}/{name}")).unwrap_or_default();
    let times = read("status").lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok()).unwrap_or(0);
    let at = read("wchan").trim().trim_matches('0').to_owned();
    let kind = match state(pid, thread) {
        Some('R') => WaitKind::Running,
        Some('T' | 't') => WaitKind::Stopped,
        Some('D') => WaitKind::Disk,
        _ => call(&read("syscall")),
    };
    Wait { kind, at, times }
}

/// Tells a wait from the text of `/proc/PID/syscall`: the number, then six arguments in hexadecimal.
fn call(text: &str) -> WaitKind {
    let mut words = text.split_ascii_whitespace();
    let Some(number) = words.next().and_then(|number| number.parse::<c_long>().ok()) else { return WaitKind::Unknown };
    let arguments: Vec<u64> = words.filter_map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()).collect();
    let argument = |at: usize| arguments.get(at).copied();
    // A pointer to a span of time; none means that there is no limit.
    let within = |at: usize, kind: WaitKind| match argument(at) {
        Some(0) => kind,
        Some(_) => WaitKind::Clock,
        None => WaitKind::Unknown,
    };
    match number {
        libc::SYS_futex => match argument(1).map(|operation| operation & 0x7f) {
            // FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET.
            Some(0 | 6 | 9) => within(3, WaitKind::Lock),
            _ => WaitKind::Unknown,
        },
        libc::SYS_read | libc::SYS_readv | libc::SYS_recvfrom | libc::SYS_recvmsg => WaitKind::Bytes,
        libc::SYS_flock | libc::SYS_semop => WaitKind::Lock,
        libc::SYS_wait4 | libc::SYS_waitid => WaitKind::Child,
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => WaitKind::Clock,
        libc::SYS_accept | libc::SYS_accept4 | libc::SYS_rt_sigsuspend => WaitKind::Events,
        libc::SYS_rt_sigtimedwait => within(2, WaitKind::Events),
        libc::SYS_ppoll => within(2, WaitKind::Events),
        libc::SYS_pselect6 => within(4, WaitKind::Events),
        libc::SYS_epoll_pwait => milliseconds(argument(3)),
        _ => older_call(number, argument(1), argument(2), argument(3), argument(4)),
    }
}

/// A limit in milliseconds, below 0 for none.
fn milliseconds(value: Option<u64>) -> WaitKind {
    match value {
        // An `int` in a register: its upper half may hold anything.
        Some(value) if value & 0x8000_0000 != 0 => WaitKind::Events,
        Some(_) => WaitKind::Clock,
        None => WaitKind::Unknown,
    }
}

/// Calls that only the older machine has.
#[cfg(target_arch = "x86_64")]
fn older_call(number: c_long, _second: Option<u64>, third: Option<u64>, fourth: Option<u64>, fifth: Option<u64>) -> WaitKind {
    match number {
        libc::SYS_poll => milliseconds(third),
        libc::SYS_epoll_wait => milliseconds(fourth),
        libc::SYS_pause => WaitKind::Events,
        libc::SYS_select => match fifth {
            Some(0) => WaitKind::Events,
            Some(_) => WaitKind::Clock,
            None => WaitKind::Unknown,
        },
        _ => WaitKind::Unknown,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn older_call(_: c_long, _: Option<u64>, _: Option<u64>, _: Option<u64>, _: Option<u64>) -> WaitKind {
    WaitKind::Unknown
}

/// The sockets that listen, on TCP and on this machine alone, by inode.
pub(super) fn listening() -> Vec<u64> {
    let local = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    // The fourth field has the flag of a socket that accepts; the seventh is the inode.
    let accepts = |row: &str| {
        let mut fields = row.split_ascii_whitespace().skip(3);
        (fields.next()? == "00010000").then(|| fields.nth(2)?.parse().ok())?
    };
    let local: Vec<u64> = local.lines().skip(1).filter_map(accepts).collect();
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let inode = |row: &str| {
        let mut fields = row.split_ascii_whitespace().skip(3);
        (fields.next()? == "0A").then(|| fields.nth(5)?.parse().ok())?
    };
    tables.iter().flat_map(|table| table.lines().skip(1).filter_map(inode)).chain(local).collect()
}

/// Whether a process holds one of these sockets.
pub(super) fn holds_one(pid: u32, inodes: &[u64]) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let sockets = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    let inode = |target: std::path::PathBuf| target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok();
    sockets.filter_map(inode).any(|inode| inodes.contains(&inode))
}

#[cfg(test)]
mod tests {
    use super::{WaitKind, call};

    #[test]
    fn calls_with_and_without_a_limit_are_told_apart() {
        for (text, kind) in [
            (format!("{} 0x7f 0x189 0x0 0x0 0x0 0xffffffff 0x7ffe 0x7f", libc::SYS_futex), WaitKind::Lock),
            (format!("{} 0x7f 0x189 0x0 0x7ffd 0x0 0xffffffff 0x7ffe 0x7f", libc::SYS_futex), WaitKind::Clock),
            (format!("{} 0x7f 0x81 0x1 0x0 0x0 0x0 0x7ffe 0x7f", libc::SYS_futex), WaitKind::Unknown),
            (format!("{} 0x0 0x0 0x7ffd 0x7ffd 0x0 0x0 0x7ffe 0x7f", libc::SYS_clock_nanosleep), WaitKind::Clock),
            (format!("{} 0x3 0x7f 0x40 0x0 0x0 0x0 0x7ffe 0x7f", libc::SYS_read), WaitKind::Bytes),
            (format!("{} 0x4 0x7f 0x1 0xffffffff 0x0 0x8 0x7ffe 0x7f", libc::SYS_epoll_pwait), WaitKind::Events),
            (format!("{} 0x4 0x7f 0x1 0x3e8 0x0 0x8 0x7ffe 0x7f", libc::SYS_epoll_pwait), WaitKind::Clock),
            (format!("{} 0xffffffff 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f", libc::SYS_wait4), WaitKind::Child),
            ("running".to_owned(), WaitKind::Unknown),
            ("-1 0x7ffe 0x7f".to_owned(), WaitKind::Unknown),
            (String::new(), WaitKind::Unknown),
            (libc::SYS_futex.to_string(), WaitKind::Unknown),
        ] {
            assert_eq!(call(&text), kind, "{text}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn older_calls_are_known_too() {
        assert_eq!(call(&format!("{} 0x0 0x0 0x0 0x0 0x7ffd 0x0", libc::SYS_select)), WaitKind::Clock);
        assert_eq!(call(&format!("{} 0x5 0x7f 0x0 0x0 0x0 0x0", libc::SYS_select)), WaitKind::Events);
        assert_eq!(call(&format!("{} 0x7f 0x1 0xffffffff 0x0 0x0 0x0", libc::SYS_poll)), WaitKind::Events);
        assert_eq!(call(&format!("{} 0x4 0x7f 0x1 0x64 0x0 0x0", libc::SYS_epoll_wait)), WaitKind::Clock);
    }
}
