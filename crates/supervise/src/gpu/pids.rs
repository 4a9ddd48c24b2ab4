//! What the driver's numbers of processes mean here.
//!
//! The driver knows no process namespaces: it tells the numbers of the machine. In the machine's own namespace they are ours. In a container another
//! process may have the same number by chance, so a number is taken for one of ours only where that process is seen to use the driver.

use std::fs;

use crate::tree::{self, ProcessInfo};

/// The namespace that the machine starts with, by the number that the kernel gives to it (`PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// How the files of the driver's devices begin, and those of its libraries.
const DEVICES: [&str; 2] = ["/dev/nvidia", "/dev/dxg"];
const LIBRARIES: [&str; 2] = ["libcuda.so", "libnvidia-"];

/// The process that the driver means by a number; `None` where it is not visible here.
pub(super) fn here(host_pid: u32) -> Option<ProcessInfo> {
    if !(numbers_are_ours() || uses_the_driver(host_pid)) {
        return None;
    }
    tree::process(host_pid)
}

/// Whether the numbers of the machine are those of this process.
pub(super) fn numbers_are_ours() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace.as_os_str() == FIRST_NAMESPACE)
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
    use super::uses_the_driver;

    #[test]
    fn a_process_that_has_nothing_of_the_driver_is_not_taken_for_one_that_has() {
        assert!(!uses_the_driver(1_u32.wrapping_neg()), "there is no such process");
        // This test loads no library of the driver, and this file's own name is none.
        assert!(!uses_the_driver(std::process::id()));
    }
}
