//! Whether the kernel killed a process for want of memory: its own counters before and after.
//!
//! A SIGKILL proves nothing; a counter that rose does prove that something of the same control group was killed. The counters
//! are those of the group of this process, in which the program runs too unless it moves itself.

use std::fs;
use std::path::{Path, PathBuf};

/// Where a counter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterScope {
    /// `memory.events` of a control group of version 2.
    CgroupV2,
    /// `memory.oom_control` of a control group of version 1.
    CgroupV1,
    /// `/proc/vmstat`, which counts for the whole machine: the victim may be anybody.
    Machine,
}

/// A counter that rose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryKill {
    /// Where it stands.
    pub scope: CounterScope,
    /// The file.
    pub file: PathBuf,
    /// Its name in the file, such as `oom_kill`.
    pub counter: &'static str,
    /// Its value at the start.
    pub before: u64,
    /// Its value now.
    pub after: u64,
    /// The limit of the group, where it has one.
    pub limit_bytes: Option<u64>,
}

/// The counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryCounters(Vec<Counter>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Counter {
    scope: CounterScope,
    file: PathBuf,
    name: &'static str,
    value: u64,
}

impl MemoryCounters {
    /// Reads the counters now; those that this machine does not have are left out.
    #[must_use]
    pub fn now() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut counters = Vec::new();
        if let Some(group) = group_v2(&groups, &mounts) {
            add(&mut counters, CounterScope::CgroupV2, &group.join("memory.events"), &["oom_kill", "oom_group_kill"]);
        }
        if let Some(group) = group_v1(&groups, &mounts) {
            add(&mut counters, CounterScope::CgroupV1, &group.join("memory.oom_control"), &["oom_kill"]);
        }
        add(&mut counters, CounterScope::Machine, Path::new("/proc/vmstat"), &["oom_kill"]);
        Self(counters)
    }

    /// The counters that have risen since, the narrowest scope first.
    #[must_use]
    pub fn risen(&self) -> Vec<MemoryKill> {
        self.0.iter().filter_map(Counter::risen).collect()
    }
}

impl Counter {
    fn risen(&self) -> Option<MemoryKill> {
        let after = read(&self.file, self.name)?;
        let limit = match self.scope {
            CounterScope::CgroupV2 => self.file.with_file_name("memory.max"),
            CounterScope::CgroupV1 => self.file.with_file_name("memory.limit_in_bytes"),
            CounterScope::Machine => PathBuf::new(),
        };
        // `max`, or a number that only says "none".
        let limit_bytes = fs::read_to_string(limit).ok().and_then(|text| text.trim().parse().ok()).filter(|&bytes| bytes < 1 << 60);
        (after > self.value).then(|| MemoryKill {
            scope: self.scope,
            file: self.file.clone(),
            counter: self.name,
            before: self.value,
            after,
            limit_bytes,
        })
    }
}

fn add(counters: &mut Vec<Counter>, scope: CounterScope, file: &Path, names: &[&'static str]) {
    for &name in names {
        if let Some(value) = read(file, name) {
            counters.push(Counter { scope, file: file.to_owned(), name, value });
        }
    }
}

/// Reads one `name value` line.
fn read(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The directory of this process's group of version 2.
fn group_v2(groups: &str, mounts: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().filter_map(Mount::parse).find(|mount| mount.kind == "cgroup2").map(|mount| mount.place(path))
}

/// The directory of this process's group of version 1 that accounts memory.
fn group_v1(groups: &str, mounts: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        fields.next()?.split(',').any(|controller| controller == "memory").then_some(())?;
        fields.next()
    })?;
    let is_memory = |mount: &Mount<'_>| mount.kind == "cgroup" && mount.options.split(',').any(|option| option == "memory");
    mounts.lines().filter_map(Mount::parse).find(is_memory).map(|mount| mount.place(path))
}

/// One line of `mountinfo`, as far as it is needed.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let mut right = right.split(' ');
        Some(Self { root: left.next()?, point: left.next()?, kind: right.next()?, options: right.nth(1)? })
    }

    /// Where a group's path lies below this mount: in a container the mount may show only a part of the hierarchy.
    fn place(&self, path: &str) -> PathBuf {
        let below = Path::new(path).strip_prefix(self.root).or_else(|_| Path::new(path).strip_prefix("/")).unwrap_or(Path::new(""));
        let full = Path::new(self.point).join(below);
        if full.is_dir() { full } else { PathBuf::from(self.point) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::{Counter, CounterScope, MemoryCounters, add, group_v1, group_v2};

    #[test]
    fn both_versions_are_found_also_inside_a_container() {
        let world = tempfile::tempdir().expect("temporary directory");
        let root = world.path().to_str().expect("UTF-8");
        fs::create_dir_all(world.path().join("v1/job")).expect("creates");
        fs::create_dir_all(world.path().join("v2/app")).expect("creates");
        let groups = "9:name=systemd:/\n4:cpu,memory:/docker/abc/job\n0::/app\n";
        let mounts = format!(
            "30 23 0:26 / {root}/v2 rw,nosuid shared:9 - cgroup2 cgroup2 rw\n\
             31 23 0:27 / {root}/cpu rw - cgroup cgroup rw,cpuset\n\
             32 23 0:28 /docker/abc {root}/v1 rw - cgroup cgroup rw,cpu,memory\n"
        );
        assert_eq!(group_v2(groups, &mounts), Some(PathBuf::from(format!("{root}/v2/app"))));
        assert_eq!(group_v1(groups, &mounts), Some(PathBuf::from(format!("{root}/v1/job"))));
        assert_eq!(group_v1("0::/\n", &mounts), None);
        assert_eq!(group_v2("4:memory:/\n", &mounts), None);
    }

    #[test]
    fn only_a_counter_that_rose_is_evidence() {
        let world = tempfile::tempdir().expect("temporary directory");
        let file = world.path().join("memory.events");
        fs::write(&file, "low 0\noom 3\noom_kill 2\noom_group_kill 0\n").expect("writes");
        fs::write(world.path().join("memory.max"), "1048576\n").expect("writes");
        let mut counters: Vec<Counter> = Vec::new();
        add(&mut counters, CounterScope::CgroupV2, &file, &["oom_kill", "oom_group_kill"]);
        let before = MemoryCounters(counters);
        assert_eq!(before.risen(), []);
        fs::write(&file, "low 0\noom 4\noom_kill 3\noom_group_kill 0\n").expect("writes");
        let risen = before.risen();
        assert_eq!(risen.len(), 1);
        assert_eq!((risen[0].counter, risen[0].before, risen[0].after, risen[0].limit_bytes), ("oom_kill", 2, 3, Some(1_048_576)));
    }

    #[test]
    fn the_counters_of_this_machine_stand_still_while_nothing_is_killed() {
        assert_eq!(MemoryCounters(Vec::new()).risen(), []);
        let now = MemoryCounters::now();
        assert!(!now.0.is_empty(), "at least the machine's counter is there");
    }
}
