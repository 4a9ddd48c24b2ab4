//! Signals to a whole tree.
//!
//! A process group is signalled as one, because the kernel does that without letting a fork slip through; sessions are what
//! makes it safe: the program starts one of its own, so every group in the tree holds descendants of the keeper only.

use std::collections::BTreeSet;

use rustix::process::{Signal, kill_process_group};

use crate::identity::{Held, as_pid};
use crate::procfs::{Stat, descendants, descends_from, stat};

/// Asks the tree to end: the program's group as a whole; by SIGTERM those that left it, too, one by one. Any other signal is one that a terminal
/// sends, and a terminal sends it to one group.
pub(super) fn ask(program: Option<u32>, signal: Signal) {
    let mut group_lives = false;
    for (held, stat) in living_descendants() {
        if Some(stat.pgrp) == program {
            group_lives = true;
        } else if signal == Signal::TERM {
            held.signal(signal);
            // A stopped process would not see it.
            held.signal(Signal::CONT);
        }
    }
    // Only while a member lives is the group's number surely ours.
    if let (true, Some(group)) = (group_lives, program.and_then(as_pid)) {
        let _ = kill_process_group(group, signal);
        let _ = kill_process_group(group, Signal::CONT);
    }
}

/// Sends SIGKILL to every descendant that can be found now, and returns to how many.
pub(super) fn kill_all() -> u32 {
    let own = stat(std::process::id());
    let mut groups = BTreeSet::new();
    let mut killed = 0;
    for (held, stat) in living_descendants() {
        // Between its fork and its own session the program still is in the keeper's group.
        let apart = own.as_ref().is_some_and(|own| own.session != stat.session && own.pgrp != stat.pgrp);
        if let Some(group) = as_pid(stat.pgrp).filter(|_| apart && stat.pgrp > 1 && groups.insert(stat.pgrp)) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        killed += u32::from(held.signal(Signal::KILL));
    }
    killed
}

/// The descendants that live, each held by a handle that was opened before it was checked.
fn living_descendants() -> impl Iterator<Item = (Held, Stat)> {
    let own = std::process::id();
    descendants(own).into_iter().filter_map(move |pid| {
        let held = Held::open(pid)?;
        let stat = stat(pid).filter(|stat| !stat.is_dead())?;
        descends_from(pid, own).then_some((held, stat))
    })
}
