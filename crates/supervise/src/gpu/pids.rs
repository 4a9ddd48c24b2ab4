//! What the driver's numbers of processes mean here.
//!
//! The driver knows no process namespaces: it tells the numbers of the machine. In the machine's own namespace they are ours. In a container another
//! process may have the same number by chance. Where the machine's own `/proc` is visible there too (`HOST_PROC`, or where tools of clusters mount it),
//! it says which process here a number is. Else a number is taken for one of ours only where that process is seen to use the driver.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::tree::{self, ProcessInfo};

/// The namespace that the machine starts with, by the number that the kernel gives to it (`PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// How the files of the driver's devices begin, and those of its libraries.
const DEVICES: [&str; 2] = ["/dev/nvidia", "/dev/dxg"];
const LIBRARIES: [&str; 2] = ["libcuda.so", "libnvidia-"];
/// The variable that names the machine's `/proc` in a container, and where it is else mounted.
const VARIABLE: &str = "HOST_PROC";
const MOUNTED: [&str; 3] = ["/host/proc", "/hostfs/proc", "/rootfs/proc"];

/// How the driver's numbers are told to be processes here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Numbering {
    /// They are ours.
    Ours,
    /// The machine's own `/proc` tells, which is mounted here.
    HostProc(PathBuf),
    /// Nothing tells: a process is taken for one where it uses the driver and has the number, or where it came while something was watched.
    Foreign,
}

impl Numbering {
    /// Looks how they can be told here.
    #[must_use]
    pub fn here() -> Self {
        if numbers_are_ours() {
            return Self::Ours;
        }
        let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let mut candidates = named.into_iter().chain(MOUNTED.map(PathBuf::from));
        candidates.find(|path| is_another_proc(path)).map_or(Self::Foreign, Self::HostProc)
    }

    /// The process here that the driver means by a number; `None` where it is not visible, or nothing tells.
    pub(super) fn pid(&self, host_pid: u32) -> Option<u32> {
        match self {
            Self::Ours => Some(host_pid),
            Self::HostProc(proc) => in_namespace(proc, Path::new("/proc"), host_pid),
            Self::Foreign => uses_the_driver(host_pid).then_some(host_pid),
        }
    }
}

/// The process that the driver means by a number; `None` where it is not visible here.
pub(super) fn here(host_pid: u32) -> Option<ProcessInfo> {
    Numbering::here().pid(host_pid).and_then(tree::process)
}

/// Whether the numbers of the machine are those of this process.
pub(super) fn numbers_are_ours() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace.as_os_str() == FIRST_NAMESPACE)
}

/// Whether a folder is a `/proc`, and not the one that belongs here.
fn is_another_proc(path: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).map(|folder| folder.dev()).ok();
    path.join("1/stat").is_file() && device(path) != device(Path::new("/proc"))
}

/// The number here of a process of another `/proc`: the last one of its `NSpid`, where the process of that number here is the same one.
fn in_namespace(proc: &Path, own: &Path, host_pid: u32) -> Option<u32> {
    let folder = proc.join(host_pid.to_string());
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    let numbers: Vec<u32> = numbers.split_ascii_whitespace().map_while(|number| number.parse().ok()).collect();
    let [_, .., last] = numbers.as_slice() else { return None };
    // Another container has a process of the same number, of another start.
    (identity(&folder)? == identity(&own.join(last.to_string()))?).then_some(*last)
}

/// What tells one process from another in two views of it: when it started, in ticks since boot, and its short name.
fn identity(folder: &Path) -> Option<(u64, String)> {
    let stat = crate::procfs::parse_stat(&fs::read(folder.join("stat")).ok()?)?;
    Some((stat.start_time, stat.comm))
}

/// Whether a process, by its number here, has one of the driver's devices open or one of its libraries loaded.
pub(super) fn uses_the_driver(pid: u32) -> bool {
    let opens = fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|descriptors| {
        let targets = descriptors.flatten().filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        targets.into_iter().any(|target| DEVICES.iter().any(|device| target.to_string_lossy().starts_with(device)))
    });
    opens || fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| LIBRARIES.iter().any(|library| maps.contains(library)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{in_namespace, is_another_proc, uses_the_driver};

    #[test]
    fn a_process_that_has_nothing_of_the_driver_is_not_taken_for_one_that_has() {
        assert!(!uses_the_driver(1_u32.wrapping_neg()), "there is no such process");
        // This test loads no library of the driver, and this file's own name is none.
        assert!(!uses_the_driver(std::process::id()));
    }

    fn lay(proc: &Path, pid: u32, numbers: &str, comm: &str, start: u64) {
        let folder = proc.join(pid.to_string());
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("status"), format!("Name:\t{comm}\nNSpid:\t{numbers}\nVmRSS:\t1 kB\n")).expect("a file");
        let stat = format!("{pid} ({comm}) S 1 1 1 0 -1 0 1 2 3 4 50 6 7 8 20 0 3 0 {start} 1000 250 0 1 1\n");
        fs::write(folder.join("stat"), stat).expect("a file");
    }

    #[test]
    fn the_machines_own_proc_says_which_process_here_a_number_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (host, own) = (folder.path().join("host"), folder.path().join("own"));
        lay(&host, 41_000, "41000\t17", "python3", 500);
        lay(&host, 41_001, "41001 5 18", "python3", 510);
        lay(&host, 41_002, "41002\t19", "python3", 520);
        lay(&host, 41_003, "41003", "Xorg", 1);
        lay(&host, 41_004, "", "odd", 1);
        lay(&own, 17, "17", "python3", 500);
        lay(&own, 18, "18", "python3", 510);
        // The number 19 of this container is another process than the one that the driver means.
        lay(&own, 19, "19", "python3", 999);
        let found = |pid| in_namespace(&host, &own, pid);
        assert_eq!((found(41_000), found(41_001)), (Some(17), Some(18)));
        assert_eq!([41_002, 41_003, 41_004, 9].map(found), [None; 4]);
    }

    #[test]
    fn the_proc_of_this_namespace_is_no_other_one() {
        assert!(!is_another_proc(Path::new("/proc")));
        assert!(!is_another_proc(Path::new("/nowhere")));
    }
}
