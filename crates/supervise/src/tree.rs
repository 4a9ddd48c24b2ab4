//! The processes of a tree as they are now, and all that were seen in it.
//!
//! Seen means: at a sample. A process that lived shorter than the time between two samples may be missing, so absence here is
//! no evidence. Units: bytes, [`Duration`]s.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::procfs::{self, Stat, cmdline, descendants, exe, stat};

/// One process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// The process.
    pub pid: u32,
    /// Its parent.
    pub ppid: u32,
    /// Its session.
    pub session: u32,
    /// When it started, in clock ticks since boot: with the pid, its identity.
    pub start_time: u64,
    /// The short name, at most 15 bytes.
    pub comm: String,
    /// The arguments, or the title that the process has written over them.
    pub cmdline: Vec<OsString>,
    /// The executable, where it may be read.
    pub exe: Option<PathBuf>,
    /// Resident memory, shared pages included.
    pub rss_bytes: u64,
    /// Time on a processor, its own and that of the children it has waited for.
    pub cpu: Duration,
}

impl ProcessInfo {
    /// The arguments, or the title, in one line.
    #[must_use]
    pub fn title(&self) -> String {
        let words: Vec<_> = self.cmdline.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ").trim().to_owned()
    }

    fn read(stat: Stat) -> Self {
        Self {
            cmdline: cmdline(stat.pid),
            exe: exe(stat.pid),
            pid: stat.pid,
            ppid: stat.ppid,
            session: stat.session,
            start_time: stat.start_time,
            rss_bytes: stat.rss_pages.saturating_mul(rustix::param::page_size() as u64),
            cpu: ticks(stat.own_ticks + stat.waited_ticks),
            comm: stat.comm,
        }
    }
}

/// What has become of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It lives.
    Lives,
    /// It has ended, and its parent has not asked how.
    Ended {
        /// Its exit code, where no signal ended it.
        code: i32,
        /// The signal that ended it; 0 for none.
        signal: i32,
    },
    /// It is gone, and how it ended is not known.
    Gone,
}

/// Looks what has become of a process that was seen before.
#[must_use]
pub fn life(process: &ProcessInfo) -> Life {
    match stat(process.pid).filter(|stat| stat.start_time == process.start_time) {
        None => Life::Gone,
        Some(stat) if stat.is_dead() => Life::Ended { code: (stat.status >> 8) & 0xff, signal: stat.status & 0x7f },
        Some(_) => Life::Lives,
    }
}

/// Clock ticks as a duration.
pub(crate) fn ticks(count: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_secs(count / per_second)
        + Duration::from_secs(1) * u32::try_from(count % per_second).unwrap_or(0) / u32::try_from(per_second).unwrap_or(u32::MAX)
}

/// Reads all living descendants of `root`, parents before their children; `root` itself is not among them.
#[must_use]
pub fn snapshot(root: u32) -> Vec<ProcessInfo> {
    descendants(root).into_iter().filter_map(stat).filter(|stat| !stat.is_dead()).map(ProcessInfo::read).collect()
}

/// Reads all descendants of `root` that have ended and whose parents have not asked how.
#[must_use]
pub fn unreaped(root: u32) -> Vec<ProcessInfo> {
    descendants(root).into_iter().filter_map(stat).filter(Stat::is_dead).map(ProcessInfo::read).collect()
}

/// Reads one process; `None` when it is gone.
#[must_use]
pub fn process(pid: u32) -> Option<ProcessInfo> {
    stat(pid).map(ProcessInfo::read)
}

/// The totals of one sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many processes there were.
    pub processes: usize,
    /// The sum of their resident memory; memory that they share is counted for each.
    pub rss_bytes: u64,
    /// The time that the tree has spent on processors so far, ended processes included.
    pub cpu: Duration,
}

/// All processes that samples have seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// By pid and start: a process has the latest of its titles.
    processes: BTreeMap<(u32, u64), ProcessInfo>,
    /// The largest resident memory of each.
    peaks: BTreeMap<(u32, u64), u64>,
    peak_rss_bytes: u64,
}

impl Seen {
    /// Takes one sample of the tree below a keeper.
    pub(crate) fn sample(&mut self, keeper: u32) -> Totals {
        let now = snapshot(keeper);
        // What the keeper has reaped is on its own account.
        let reaped = stat(keeper).map_or(0, |keeper| keeper.waited_ticks);
        let totals = Totals {
            processes: now.len(),
            rss_bytes: now.iter().map(|process| process.rss_bytes).sum(),
            cpu: now.iter().map(|process| process.cpu).sum::<Duration>() + ticks(reaped),
        };
        self.peak_rss_bytes = self.peak_rss_bytes.max(totals.rss_bytes);
        for process in now {
            self.remember(process);
        }
        totals
    }

    /// Keeps the latest of a process; one that is about to end has already lost its title and its executable.
    fn remember(&mut self, process: ProcessInfo) {
        let identity = (process.pid, process.start_time);
        let peak = self.peaks.entry(identity).or_default();
        *peak = (*peak).max(process.rss_bytes);
        if !process.cmdline.is_empty() || !self.processes.contains_key(&identity) {
            self.processes.insert(identity, process);
        }
    }

    /// The processes seen, by pid.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &ProcessInfo> {
        self.processes.values()
    }

    /// The processes seen with the largest resident memory of each, by pid.
    pub(crate) fn peaks(&self) -> impl Iterator<Item = (&ProcessInfo, u64)> {
        self.processes.iter().map(|(identity, process)| (process, self.peaks.get(identity).copied().unwrap_or(0)))
    }

    /// The largest sum of resident memory in any sample.
    pub(crate) fn peak_rss_bytes(&self) -> u64 {
        self.peak_rss_bytes
    }
}

/// Whether `pid` is `root` or one of its descendants now.
#[must_use]
pub fn contains(root: u32, pid: u32) -> bool {
    procfs::descends_from(pid, root)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::{Life, ProcessInfo, Seen, contains, life, process, snapshot, ticks};

    #[test]
    fn a_process_that_is_about_to_end_keeps_its_title() {
        let own = process(std::process::id()).expect("reads itself");
        let mut seen = Seen::default();
        let titled = |cmdline: &[&str]| ProcessInfo { cmdline: cmdline.iter().map(Into::into).collect(), ..own.clone() };
        for cmdline in [&["bash", "shim"][..], &["python3", "x"], &[]] {
            seen.remember(titled(cmdline));
        }
        assert_eq!(seen.processes().map(ProcessInfo::title).collect::<Vec<_>>(), ["python3 x"]);
    }

    #[test]
    fn how_a_process_ended_is_known_until_it_is_reaped() {
        let script = |text: &str| Command::new("sh").args(["-c", text]).stdin(Stdio::piped()).spawn().expect("starts");
        for (text, wanted) in
            [("read -r x; exit 3", Life::Ended { code: 3, signal: 0 }), ("read -r x; kill -KILL $$", Life::Ended { code: 0, signal: 9 })]
        {
            let mut child = script(text);
            let process = process(child.id()).expect("is there");
            assert_eq!(life(&process), Life::Lives);
            drop(child.stdin.take());
            let until = std::time::Instant::now() + Duration::from_secs(60);
            while life(&process) == Life::Lives && std::time::Instant::now() < until {
                std::thread::yield_now();
            }
            assert_eq!(life(&process), wanted);
            child.wait().expect("ends");
            assert_eq!(life(&process), Life::Gone);
        }
    }

    #[test]
    fn ticks_are_hundredths_of_a_second_here() {
        assert_eq!(ticks(0), Duration::ZERO);
        assert_eq!(ticks(rustix::param::clock_ticks_per_second() * 3), Duration::from_secs(3));
    }

    #[test]
    fn a_child_is_in_the_snapshot_with_its_command() {
        let mut child = Command::new("cat").arg("-").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
        let own = std::process::id();
        // Right after its exec a process has its name already, and its command line not yet.
        let until = std::time::Instant::now() + Duration::from_secs(60);
        let found = loop {
            let found = snapshot(own).into_iter().find(|process| process.pid == child.id()).expect("is a descendant");
            if !found.cmdline.is_empty() || std::time::Instant::now() > until {
                break found;
            }
            std::thread::yield_now();
        };
        assert_eq!((found.ppid, found.comm.as_str(), found.title().as_str()), (own, "cat", "cat -"));
        assert!(contains(own, child.id()) && !contains(child.id(), own));
        drop(child.stdin.take());
        child.wait().expect("ends");
        assert_eq!(process(child.id()), None);
    }
}
