//! Clearing up after a keeper that was itself killed: its orphans have become children of this process, a subreaper too.
//!
//! Other children of this process are left alone: an orphan is told by the trial's marker, by a session that the trial has
//! made, or by having been seen in the tree.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions, waitpid};

use super::event::KeeperLost;
use crate::command::MARKER;
use crate::identity::{Held, as_pid};
use crate::procfs::{children, descendants, descends_from, environment_value, stat};
use crate::tree::ProcessInfo;

/// How long the clearing may take.
const LIMIT: Duration = Duration::from_secs(5);
/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(1);

/// Kills what a lost keeper has left, round after round until a round finds nothing.
pub(super) fn clear<'a>(marker: &str, program: Option<u32>, seen: impl Iterator<Item = &'a ProcessInfo>) -> KeeperLost {
    let mut known = Known { marker: marker.as_bytes(), sessions: program.into_iter().collect(), processes: BTreeSet::new() };
    let own_session = stat(std::process::id()).map(|own| own.session);
    for process in seen {
        known.processes.insert((process.pid, process.start_time));
        if Some(process.session) != own_session {
            known.sessions.insert(process.session);
        }
    }
    let started = Instant::now();
    let mut killed = BTreeSet::new();
    loop {
        let orphans: Vec<u32> = children(std::process::id()).into_iter().filter(|&pid| known.is_orphan(pid)).collect();
        if orphans.is_empty() {
            return KeeperLost { orphans: u32::try_from(killed.len()).unwrap_or(u32::MAX), cleared: true };
        }
        for orphan in orphans {
            killed.extend(known.kill_with_descendants(orphan));
        }
        if started.elapsed() > LIMIT {
            return KeeperLost { orphans: u32::try_from(killed.len()).unwrap_or(u32::MAX), cleared: false };
        }
        thread::sleep(PAUSE);
    }
}

/// What is known of the trial's processes.
struct Known<'a> {
    marker: &'a [u8],
    sessions: BTreeSet<u32>,
    processes: BTreeSet<(u32, u64)>,
}

impl Known<'_> {
    fn is_orphan(&self, pid: u32) -> bool {
        let Some(stat) = stat(pid) else { return false };
        self.sessions.contains(&stat.session)
            || self.processes.contains(&(pid, stat.start_time))
            || environment_value(pid, MARKER).is_some_and(|value| value == self.marker)
    }

    /// Kills an orphan with all below it, and reaps it if it is dead; returns the living it has hit.
    fn kill_with_descendants(&mut self, orphan: u32) -> Vec<u32> {
        let mut hit = Vec::new();
        let mut family = vec![orphan];
        family.extend(descendants(orphan));
        for pid in family {
            let Some(held) = Held::open(pid) else { continue };
            // Checked while it is held, so that it cannot be a stranger with a recycled pid.
            let Some(stat) = stat(pid).filter(|stat| !stat.is_dead() && descends_from(pid, orphan)) else { continue };
            // Its own children come up to this process when it dies, and must be known then.
            self.processes.insert((pid, stat.start_time));
            if held.signal(Signal::KILL) {
                hit.push(pid);
            }
        }
        // Only this one: other children belong to others in this process, who wait for them.
        if let Some(pid) = as_pid(orphan) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
        hit
    }
}
