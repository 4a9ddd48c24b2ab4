//! What `/proc` says about processes: status, children, command line, environment.
//!
//! Only reading and parsing; who belongs to a trial is decided in `tree`. A process that is gone reads as `None`, never as an error.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The fields of `/proc/PID/stat` that are used here. Times are in clock ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The process.
    pub(crate) pid: u32,
    /// The short name, at most 15 bytes.
    pub(crate) comm: String,
    /// The state letter; `Z` is a zombie.
    pub(crate) state: char,
    /// The parent.
    pub(crate) ppid: u32,
    /// The process group.
    pub(crate) pgrp: u32,
    /// The session.
    pub(crate) session: u32,
    /// User and system time of the process itself.
    pub(crate) own_ticks: u64,
    /// User and system time of the children it has waited for.
    pub(crate) waited_ticks: u64,
    /// When it started, in ticks since boot: with the pid, its identity.
    pub(crate) start_time: u64,
    /// Resident pages.
    pub(crate) rss_pages: u64,
    /// The status of one that is dead and not reaped, as `wait` gives it; 0 where it may not be known.
    pub(crate) status: i32,
}

impl Stat {
    /// Whether the process is dead and only waits to be reaped.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// Reads a file of `/proc` in few calls: such a file tells no length, so the room for most of them is there before.
fn contents(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(2048);
    fs::File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the status of one process.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&contents(&format!("/proc/{pid}/stat")).ok()?)
}

/// Parses the text of `/proc/PID/stat`; the short name may hold blanks and brackets, so it ends at the last bracket.
pub(crate) fn parse_stat(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|&b| b == b'(')?;
    let close = text.iter().rposition(|&b| b == b')')?;
    let pid = std::str::from_utf8(text.get(..open)?).ok()?.trim().parse().ok()?;
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    // Field 3 of proc(5) is the first one after the name.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |at: usize| field(at)?.parse::<u64>().ok();
    // A process of another PID namespace can read as parent 0 and session 0, both fine.
    let id = |at: usize| field(at)?.parse::<u32>().ok();
    Some(Stat {
        pid,
        comm: String::from_utf8_lossy(text.get(open + 1..close)?).into_owned(),
        state: field(3)?.chars().next()?,
        ppid: id(4)?,
        pgrp: id(5)?,
        session: id(6)?,
        own_ticks: number(14)? + number(15)?,
        // proc(5) has these signed.
        waited_ticks: number(16).unwrap_or(0) + number(17).unwrap_or(0),
        start_time: number(22)?,
        rss_pages: number(24).unwrap_or(0),
        status: field(52).and_then(|status| status.parse().ok()).unwrap_or(0),
    })
}

/// Lists all processes that this one may see.
pub(crate) fn all_pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The children of one process: those of all its threads. `None` where the kernel does not offer the list.
fn listed_children(pid: u32) -> Option<Vec<u32>> {
    let mut children = Vec::new();
    let tasks = match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(tasks) => tasks,
        Err(_gone) => return Some(children),
    };
    for task in tasks.flatten() {
        let path = task.path().join("children");
        match fs::read_to_string(&path) {
            Ok(text) => children.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
            // Either the thread has just ended, or this kernel is built without the file.
            Err(_) if task.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

/// The children of one process, zombies among them.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    listed_children(pid).unwrap_or_else(|| all_pids().into_iter().filter(|&other| stat(other).is_some_and(|s| s.ppid == pid)).collect())
}

/// All descendants of one process, parents before their children; it is itself not among them.
///
/// The kernel's list can miss a child that is born meanwhile: callers that must have all of them ask again until none is left.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let mut found: Vec<u32> = match listed_children(root) {
        Some(children) => children,
        None => return descendants_by_parent(root),
    };
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        // A recycled pid could close a ring; it is entered once.
        for child in listed_children(pid).unwrap_or_default() {
            if child != root && !found.contains(&child) {
                found.push(child);
            }
        }
        next += 1;
    }
    found
}

/// The same from one scan over all processes, for kernels without the list of children.
fn descendants_by_parent(root: u32) -> Vec<u32> {
    let mut by_parent: HashMap<u32, Vec<u32>> = HashMap::new();
    for stat in all_pids().into_iter().filter_map(stat) {
        by_parent.entry(stat.ppid).or_default().push(stat.pid);
    }
    let mut found = by_parent.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(by_parent.remove(&pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// Whether `root` is `pid` itself or one of its ancestors.
pub(crate) fn descends_from(pid: u32, root: u32) -> bool {
    let mut at = pid;
    // Deeper than any real tree; a ring from recycled pids ends here.
    for _ in 0..4096 {
        if at == root {
            return true;
        }
        match stat(at) {
            Some(stat) if stat.ppid > 0 => at = stat.ppid,
            _ => return false,
        }
    }
    false
}

/// The arguments of one process, or what it has written over them as its title.
pub(crate) fn cmdline(pid: u32) -> Vec<OsString> {
    let bytes = contents(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut arguments: Vec<OsString> = bytes.split(|&b| b == 0).map(|argument| OsString::from_vec(argument.to_vec())).collect();
    // The list ends with a zero, and a written title is padded with them.
    while arguments.last().is_some_and(|last| last.is_empty()) {
        arguments.pop();
    }
    arguments
}

/// The executable of one process, where it may be read.
pub(crate) fn exe(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// The value of one variable in the environment that a process was started with.
pub(crate) fn environment_value(pid: u32, name: &str) -> Option<Vec<u8>> {
    let bytes = contents(&format!("/proc/{pid}/environ")).ok()?;
    bytes.split(|&b| b == 0).find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::parse_stat;

    #[test]
    fn a_name_with_blanks_and_brackets_is_read_whole() {
        let text = b"812 (a ) (b) S 1 812 811 0 -1 4194560 1 2 3 4 50 6 7 8 20 0 3 0 99887 1000 250 18446744073709551615 1 1";
        let stat = parse_stat(text).expect("parses");
        assert_eq!((stat.pid, stat.comm.as_str(), stat.state), (812, "a ) (b", 'S'));
        assert_eq!((stat.ppid, stat.pgrp, stat.session), (1, 812, 811));
        assert_eq!((stat.own_ticks, stat.waited_ticks), (56, 15));
        assert_eq!((stat.start_time, stat.rss_pages), (99887, 250));
    }

    #[test]
    fn a_cut_line_is_no_process() {
        assert_eq!(parse_stat(b"812 (a) S 1 2"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn this_process_descends_from_its_parent() {
        let own = super::stat(std::process::id()).expect("reads itself");
        assert!(super::descends_from(own.pid, own.ppid));
        assert!(!super::descends_from(own.ppid, own.pid));
    }
}
