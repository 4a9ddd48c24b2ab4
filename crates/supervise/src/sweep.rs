//! Clearing up after a run whose process and keeper were both killed: at the next start, by the marker in the environment of
//! its processes and by the names of its files.
//!
//! Whose owner is dead is for the caller to say: a marker that it does not know is never touched.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::command::MARKER;
use crate::identity::Held;
use crate::procfs::{all_pids, descendants, descends_from, environment_value, stat};
use crate::tree::{ProcessInfo, process};

/// How long a sweep may take.
const LIMIT: Duration = Duration::from_secs(5);

/// What a sweep did.
#[derive(Debug, Default)]
pub struct Swept {
    /// The processes that were killed, by pid.
    pub killed: Vec<ProcessInfo>,
    /// Leftovers that are still there: they may not be signalled, or hang in the kernel.
    pub left: Vec<ProcessInfo>,
}

/// Kills every process, and all below it, whose marker belongs to a run that `is_dead`.
///
/// It goes on until a round finds none. This process and its ancestors are spared whatever their markers say.
#[must_use]
pub fn sweep(is_dead: impl Fn(&str) -> bool) -> Swept {
    let started = Instant::now();
    let mut killed = BTreeMap::new();
    loop {
        let leftovers: Vec<u32> = all_pids().into_iter().filter(|&pid| is_leftover(pid, &is_dead)).collect();
        let mut hit = Vec::new();
        for &pid in &leftovers {
            hit.extend(kill_family(pid, &is_dead, &mut killed));
        }
        if leftovers.is_empty() || hit.is_empty() || started.elapsed() > LIMIT {
            let left: Vec<ProcessInfo> = leftovers.into_iter().filter_map(process).collect();
            let killed = killed.into_values().filter(|killed: &ProcessInfo| left.iter().all(|left| left.pid != killed.pid)).collect();
            return Swept { killed, left };
        }
        for held in hit {
            held.wait_gone(LIMIT.saturating_sub(started.elapsed()));
        }
    }
}

fn is_leftover(pid: u32, is_dead: &impl Fn(&str) -> bool) -> bool {
    let own = std::process::id();
    pid != own
        && environment_value(pid, MARKER).is_some_and(|value| std::str::from_utf8(&value).is_ok_and(is_dead))
        && stat(pid).is_some_and(|stat| !stat.is_dead())
        && !descends_from(own, pid)
}

/// Kills one leftover and what it has started, and returns the handles of what was hit.
fn kill_family(pid: u32, is_dead: &impl Fn(&str) -> bool, killed: &mut BTreeMap<u32, ProcessInfo>) -> Vec<Held> {
    let own = std::process::id();
    let Some(root) = Held::open(pid) else { return Vec::new() };
    // Looked at again while it is held: the pid may have changed hands since the listing.
    if !is_leftover(pid, is_dead) {
        return Vec::new();
    }
    let mut family = vec![(pid, root)];
    for below in descendants(pid) {
        let Some(held) = Held::open(below) else { continue };
        if below != own && descends_from(below, pid) && !descends_from(own, below) {
            family.push((below, held));
        }
    }
    let mut hit = Vec::new();
    for (pid, held) in family {
        let info = process(pid);
        if held.signal(Signal::KILL) {
            killed.extend(info.map(|info| (pid, info)));
            hit.push(held);
        }
    }
    hit
}

/// Removes what dead runs have left in a directory: every entry that is called `prefix` and a name that `is_dead` knows.
///
/// Returns what was removed. A directory that is not there holds nothing.
///
/// # Errors
/// When the directory cannot be listed or an entry cannot be removed.
pub fn remove_leftovers(directory: &Path, prefix: &str, is_dead: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut removed = Vec::new();
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_str().and_then(|name| name.strip_prefix(prefix)).is_some_and(&is_dead) {
            continue;
        }
        let path = entry.path();
        let gone = if entry.file_type()?.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match gone {
            Ok(()) => removed.push(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::remove_leftovers;

    #[test]
    fn only_leftovers_of_the_dead_are_removed() {
        let world = tempfile::tempdir().expect("temporary directory");
        for name in ["bystander-dead", "bystander-live", "other-dead"] {
            fs::create_dir(world.path().join(name)).expect("creates");
            fs::write(world.path().join(name).join("ring"), "x").expect("writes");
        }
        fs::write(world.path().join("bystander-dead-too"), "x").expect("writes");
        let mut removed = remove_leftovers(world.path(), "bystander-", |name| name.starts_with("dead")).expect("removes");
        removed.sort();
        assert_eq!(removed, [world.path().join("bystander-dead"), world.path().join("bystander-dead-too")]);
        assert!(world.path().join("bystander-live/ring").exists() && world.path().join("other-dead/ring").exists());
        assert_eq!(remove_leftovers(&world.path().join("none"), "x", |_| true).expect("lists"), Vec::<std::path::PathBuf>::new());
    }
}
