//! What a run needs of the machine beside permissions: room, interpreters, a look into processes, a clock.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bystander_model::printed::Finding;

use super::{finding, optional};
use crate::output::{clock, clock_here, other_state};

/// Room below which records of a run are in danger, in bytes.
const LITTLE_ROOM: u64 = 1 << 30;
/// Versions of Python that probes may meet.
const PYTHONS: std::ops::RangeInclusive<u32> = 8..=15;
/// No clock of a machine that was set stands before this: 2025-01-01, in seconds since 1970.
const UNSET: u64 = 1_735_689_600;

/// Whether logs and records have room where the state directory is, or will be.
pub(super) fn space(named: Option<&Path>) -> Finding {
    let path = named.unwrap_or(Path::new("."));
    let nearest = path.ancestors().find(|folder| folder.exists()).filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = match rustix::fs::statvfs(nearest) {
        Err(errno) => Err(format!("{}: {errno}", nearest.display())),
        Ok(disk) => {
            let (free, files) = (disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_favail);
            let told = format!("{:.1} GiB are free where the state directory is", free as f64 / f64::from(1 << 30));
            match (free >= LITTLE_ROOM, disk.f_files > 0 && files < 1000) {
                (_, true) => Err(format!("{told}, and room for {files} files")),
                (true, false) => Ok(told),
                (false, false) => Err(told),
            }
        }
    };
    optional(finding(
        "room for records",
        found,
        &format!("make room, or {}; a run stops where the disk is full, and goes on when there is room", other_state()),
    ))
}

/// The versions of Python on the PATH.
pub(super) fn pythons() -> Finding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &OsString| {
        std::env::split_paths(&path)
            .any(|folder| folder.join(name).metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0))
    };
    let found: Vec<String> =
        PYTHONS.map(|minor| format!("3.{minor}")).filter(|version| is_there(&OsString::from(format!("python{version}")))).collect();
    let found = if found.is_empty() { Err("no python3.8 or newer by that name on the PATH".to_owned()) } else { Ok(found.join(", ")) };
    optional(finding("versions of Python", found, "probes use the Python of the program, wherever it lies; nothing is needed here"))
}

/// Whether stacks of a program that stands still can be taken, as the kernel says who may look into whose memory.
/// Source: Documentation/admin-guide/LSM/Yama.rst of Linux.
pub(super) fn stacks() -> Finding {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok().and_then(|text| text.trim().parse::<u32>().ok());
    let root = rustix::process::geteuid().is_root();
    let found = match scope {
        None => Ok("possible: the kernel does not restrict ptrace".to_owned()),
        Some(scope @ (0 | 1)) => Ok(format!("possible: ptrace_scope is {scope}, and programs run below bystander")),
        Some(2) if root => Ok("possible as superuser: ptrace_scope is 2".to_owned()),
        Some(scope) => Err(format!("not possible: ptrace_scope is {scope}")),
    };
    optional(finding(
        "stacks of a hang (ptrace)",
        found,
        "set kernel.yama.ptrace_scope to 1, or run as superuser; hangs are found without it, and told without stacks",
    ))
}

/// A clock that is further off than this is worth setting, in nanoseconds.
const FAR_OFF: u64 = 1_000_000_000;

/// The time here. With `--on` the offset to the clock that asks is told beside it.
pub(super) fn set_clock() -> Finding {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let shown = jiff::Timestamp::from_second(i64::try_from(now).unwrap_or(0)).map_or_else(|_| now.to_string(), |time| time.to_string());
    let offset = clock_here().filter(|offset| offset.ahead_ns.unsigned_abs() > FAR_OFF + offset.error_ns);
    let found = match (now >= UNSET, offset) {
        (false, _) => Err(format!("{shown}: the clock was never set")),
        (true, Some(offset)) => Err(format!("{shown}: the clock there is {}", clock(offset))),
        (true, None) => Ok(shown),
    };
    let mend = "set it, for instance with `timedatectl set-ntp true`";
    let without = match offset {
        Some(_) => {
            "records have the times of the clock here all the same; lines of logs, and times of files that are copied between the machines, do not"
        }
        None => "spans of time are right without it",
    };
    optional(finding("clock", found, &format!("{mend}; {without}")))
}
