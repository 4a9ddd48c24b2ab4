//! A limit of memory around a trap, as a container has one.

use std::fs;
use std::path::{Path, PathBuf};

/// A group of processes with a limit; removed when it is dropped.
pub(crate) struct Limit {
    folder: PathBuf,
}

impl Limit {
    /// Makes a group with so many MiB; `None` where this user may make none.
    pub(crate) fn of(mebibytes: u64) -> Option<Self> {
        let name = format!("bystander-trap-{}-{:?}", std::process::id(), std::thread::current().id());
        let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let versions = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        versions.into_iter().find_map(|(root, file)| {
            let limit = Self { folder: Path::new(root).join(&name) };
            fs::create_dir(&limit.folder).ok()?;
            fs::write(limit.folder.join(file), (mebibytes << 20).to_string()).ok()?;
            // Without swap the limit is where the kernel acts; where it cannot be told, there is none.
            let _ = fs::write(limit.folder.join("memory.swappiness"), "0");
            Some(limit)
        })
    }

    /// The file that takes the number of a process that is to be in it.
    pub(crate) fn door(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // A group with a process in it stays; the test says then that one is left.
        let _ = fs::remove_dir(&self.folder);
    }
}
