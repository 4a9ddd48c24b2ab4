//! The processes of this user that may be left from earlier trials: by the marker in their environment, and by titles that only an engine's processes
//! have. Nothing is ended here.
//!
//! Engines write a title over their arguments (`VLLM::Worker_TP0`), and the kernel keeps its first 15 bytes as the short name; either may be all that is
//! left to see. What a marker means is for callers to say.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use crate::command::MARKER;
use crate::procfs::{Stat, all_pids, cmdline, descends_from, environment_value, stat};
use crate::tree::{ProcessInfo, process, ticks};

/// The kernel keeps so many bytes of a short name.
const COMM: usize = 15;
/// A process this old has its title, and the environment that it was started with.
const SETTLED: Duration = Duration::from_secs(60);
/// The parent of the kernel's own threads.
const KERNEL: u32 = 2;

/// A process that may be a leftover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspect {
    /// The process.
    pub process: ProcessInfo,
    /// The marker in its environment, or that of its nearest ancestor that has one.
    pub marker: Option<String>,
    /// Whether the marker is in its own environment.
    pub marked_itself: bool,
    /// The pattern that its title has.
    pub title: Option<String>,
    /// How long it has been running.
    pub age: Option<Duration>,
}

/// Counts the processes of this user, and remembers those that are nobody's concern, so that the next count is cheap.
#[derive(Debug, Default)]
pub struct Census {
    /// Processes that were looked into, by pid, with their start and their short name then.
    cleared: HashMap<u32, (u64, String)>,
}

impl Census {
    /// Finds every living process of this user that carries a marker or has one of the titles. This process and its ancestors are left out.
    pub fn take(&mut self, titles: &[String]) -> Vec<Suspect> {
        let own = std::process::id();
        let uid = rustix::process::geteuid().as_raw();
        let uptime = uptime();
        let mut cleared = HashMap::new();
        let mut suspects = Vec::new();
        for pid in all_pids() {
            let is_ours = fs::metadata(format!("/proc/{pid}")).is_ok_and(|entry| entry.uid() == uid);
            let Some(stat) = stat(pid).filter(|stat| is_ours && !stat.is_dead() && stat.ppid != KERNEL && pid != KERNEL) else { continue };
            if self.cleared.get(&pid).is_some_and(|(start, comm)| *start == stat.start_time && *comm == stat.comm) {
                cleared.insert(pid, (stat.start_time, stat.comm));
                continue;
            }
            let age = age(&stat, uptime);
            match suspect(&stat, titles, age) {
                Some(suspect) if !descends_from(own, pid) => suspects.push(suspect),
                _ if age.is_some_and(|age| age > SETTLED) => {
                    cleared.insert(pid, (stat.start_time, stat.comm));
                }
                _ => {}
            }
        }
        self.cleared = cleared;
        suspects.sort_by_key(|suspect| suspect.process.pid);
        suspects
    }
}

fn suspect(stat: &Stat, titles: &[String], age: Option<Duration>) -> Option<Suspect> {
    let shown = if titles.is_empty() { String::new() } else { title_of(stat.pid) };
    let title = titles.iter().find(|pattern| has_title(pattern, &shown, &stat.comm)).cloned();
    let own = marker(stat.pid);
    if own.is_none() && title.is_none() {
        return None;
    }
    let marked_itself = own.is_some();
    Some(Suspect { process: process(stat.pid)?, marker: own.or_else(|| inherited(stat)), marked_itself, title, age })
}

/// The user of a process; `None` when it is gone.
#[must_use]
pub fn user_of(pid: u32) -> Option<u32> {
    fs::metadata(format!("/proc/{pid}")).ok().map(|entry| entry.uid())
}

/// How long a process has been running; `None` when it is gone.
#[must_use]
pub fn age_of(pid: u32) -> Option<Duration> {
    age(&stat(pid)?, uptime())
}

/// The marker of the trial that a process belongs to, by its own environment or by that of an ancestor.
#[must_use]
pub fn marker_of(pid: u32) -> Option<String> {
    marker(pid).or_else(|| inherited(&stat(pid)?))
}

fn marker(pid: u32) -> Option<String> {
    String::from_utf8(environment_value(pid, MARKER)?).ok().filter(|marker| !marker.is_empty())
}

/// The marker of the nearest ancestor that has one: a program may have cleared its own environment.
fn inherited(of: &Stat) -> Option<String> {
    let mut at = of.ppid;
    // Deeper than any real tree; a ring from recycled pids ends here.
    for _ in 0..256 {
        if at <= 1 {
            return None;
        }
        if let Some(found) = marker(at) {
            return Some(found);
        }
        at = stat(at)?.ppid;
    }
    None
}

/// The whole text that a process shows for its arguments; a written title ends at the first zero.
fn title_of(pid: u32) -> String {
    cmdline(pid).first().map(|first| first.to_string_lossy().into_owned()).unwrap_or_default()
}

fn age(stat: &Stat, uptime: Option<Duration>) -> Option<Duration> {
    uptime?.checked_sub(ticks(stat.start_time))
}

fn uptime() -> Option<Duration> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(text.split_ascii_whitespace().next()?.parse().ok()?).ok()
}

/// Whether a process has a title: in full, or as much of it as the kernel keeps for the short name.
///
/// A short name alone says little, so it counts only where the pattern's own letters fill it, or where it fits with all that the pattern asks.
fn has_title(pattern: &str, title: &str, comm: &str) -> bool {
    if fits(pattern.as_bytes(), title.as_bytes()) || fits(pattern.as_bytes(), comm.as_bytes()) {
        return true;
    }
    let fixed = pattern.split('*').next().unwrap_or_default();
    comm.len() == COMM && fixed.len() > COMM && fixed.as_bytes().starts_with(comm.as_bytes())
}

/// Whether a text fits a pattern in which `*` stands for anything, also for nothing.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where the last star was, and how far the text was when it was met.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(letter) if *letter == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                t = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use bystander_testkit::{LIMIT, until};

    use super::{Census, age_of, fits, has_title, marker_of, user_of};

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text) in
            [("VLLM::*", "VLLM::EngineCore"), ("*core*", "a core b"), ("a*b*c", "aXbXbc"), ("*", ""), ("a", "a"), ("a*", "a")]
        {
            assert!(fits(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        for (pattern, text) in [("VLLM::*", "python VLLM::x"), ("a*b", "aXbX"), ("a", "ab"), ("", "a"), ("a*a", "a")] {
            assert!(!fits(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn a_title_is_known_in_full_and_as_the_kernel_cuts_it() {
        let full = |title: &str| title.chars().take(15).collect::<String>();
        for title in ["VLLM::EngineCore", "VLLM::Worker_TP0", "sglang::scheduler_TP0", "sglang::detokenizer", "ray::RolloutWorker.run()"] {
            let pattern = format!("{}::*", title.split("::").next().expect("a name"));
            assert!(has_title(&pattern, title, "python3"), "{title}");
            assert!(has_title(&pattern, "python3 -c pass", &full(title)), "{title} cut");
        }
        assert!(has_title("sglang::detokenizer", "", "sglang::detoken"), "a pattern without a star, cut");
        assert!(!has_title("sglang::detokenizer", "", "sglang::deto"), "a short name that is not cut is whole");
        assert!(!has_title("VLLM::*", "vim VLLM::notes.txt", "vim"));
    }

    struct Ended(Child);
    impl Drop for Ended {
        fn drop(&mut self) {
            // It may be gone already.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn sleeper(title: &str, marker: Option<&str>) -> Ended {
        let mut command = Command::new("sleep");
        command.arg0(title).arg("600").stdin(Stdio::null()).env_remove("BYSTANDER_TRIAL");
        command.envs(marker.map(|marker| ("BYSTANDER_TRIAL", marker)));
        Ended(command.spawn().expect("sleeps"))
    }

    #[test]
    fn marked_and_titled_processes_are_found_again_and_again_and_others_are_not() {
        let title = format!("Census{}::Worker", std::process::id());
        let titles = [format!("Census{}::*", std::process::id())];
        let marker = format!("owner-{}/run/7", std::process::id());
        let (marked, titled, other) = (sleeper("sleep", Some(&marker)), sleeper(&title, None), sleeper("sleep", None));
        let mut census = Census::default();
        for _ in 0..3 {
            let mut found = Vec::new();
            until("both to be found", LIMIT, || {
                found = census.take(&titles);
                [&marked, &titled].iter().all(|child| found.iter().any(|suspect| suspect.process.pid == child.0.id()))
            });
            let of = |child: &Ended| found.iter().find(|suspect| suspect.process.pid == child.0.id());
            let (by_marker, by_title) = (of(&marked).expect("is there"), of(&titled).expect("is there"));
            assert_eq!((by_marker.marker.as_deref(), by_marker.marked_itself, &by_marker.title), (Some(marker.as_str()), true, &None));
            assert_eq!((by_title.title.as_ref(), by_title.marked_itself), (Some(&titles[0]), false));
            assert!(by_title.age.is_some_and(|age| age < LIMIT));
            assert_eq!(of(&other), None);
        }
        assert_eq!(marker_of(marked.0.id()), Some(marker));
        assert_eq!(user_of(marked.0.id()), Some(rustix::process::geteuid().as_raw()));
        assert!(age_of(marked.0.id()).is_some());
        assert!(census.take(&[]).iter().all(|suspect| suspect.process.pid != titled.0.id()), "no titles, nothing to be known by");
    }

    #[test]
    fn this_process_is_never_a_suspect() {
        let all = Census::default().take(&["*".to_owned()]);
        assert!(all.iter().all(|suspect| suspect.process.pid != std::process::id()));
    }
}
