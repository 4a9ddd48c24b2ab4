//! A limit of memory around a trap, as a container has one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A group of processes with a limit; removed when it is dropped.
pub(crate) struct Limit {
    folder: PathBuf,
}

impl Limit {
    /// Makes a group with so many MiB; `None` where this user may make none. A kill for want of memory that the kernel counts takes such a group, so the
    /// superuser or somebody to whom one was handed down; limits of a process (`ulimit -v`) end nothing, they give no memory.
    pub(crate) fn of(mebibytes: u64) -> Option<Self> {
        let name = format!("bystander-trap-{}-{:?}", std::process::id(), std::thread::current().id());
        let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        places().into_iter().find_map(|(place, file)| {
            let limit = Self { folder: place.join(&name) };
            fs::create_dir(&limit.folder).ok()?;
            fs::write(limit.folder.join(file), (mebibytes << 20).to_string()).ok()?;
            // Without swap the limit is where the kernel acts; where it cannot be told, there is none.
            let _ = fs::write(limit.folder.join("memory.swappiness"), "0");
            let _ = fs::write(limit.folder.join("memory.swap.max"), "0");
            let enter = format!("echo $$ > {}", limit.door().display());
            Command::new("/bin/sh").args(["-c", &enter]).stderr(Stdio::null()).status().ok()?.success().then_some(limit)
        })
    }

    /// The file that takes the number of a process that is to be in it.
    pub(crate) fn door(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

/// Where a group may be made, and the file of its limit: the root of either version, and beside this process's own group, which may be its user's.
fn places() -> Vec<(PathBuf, &'static str)> {
    let root = Path::new("/sys/fs/cgroup");
    let mut places = vec![(root.join("memory"), "memory.limit_in_bytes"), (root.to_owned(), "memory.max")];
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).and_then(|own| Path::new(own).parent());
    places.extend(own.map(|above| (root.join(above), "memory.max")));
    places
}

impl Drop for Limit {
    fn drop(&mut self) {
        // A group with a process in it stays; the test says then that one is left.
        let _ = fs::remove_dir(&self.folder);
    }
}
