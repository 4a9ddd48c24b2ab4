//! What commands that were killed have left running: their programs, and the rings that those wrote to.

use std::error::Error;
use std::fs;

use bystander_supervise::sweep::sweep;

use crate::owner::Owner;
use crate::secrets;

/// Where rings lie: in shared memory, so that a hit is a store and not a write to a disk.
pub(super) const RINGS: &str = "/dev/shm";
/// How the names of ring folders begin.
pub(super) const RING_PREFIX: &str = "bystander@";

/// Ends every program whose command is gone, and removes its rings; gives how many processes were ended.
///
/// # Errors
/// A process cannot be ended, or the rings cannot be listed.
pub(crate) fn end_programs() -> Result<usize, Box<dyn Error + Send + Sync>> {
    let swept = sweep(|marker| marker.split('/').next().is_some_and(owner_is_gone));
    if let Some(process) = swept.left.first() {
        let title = secrets::masked_title(&process.title());
        return Err(format!("process {} of a killed run ({title}) could not be ended", process.pid).into());
    }
    for entry in fs::read_dir(RINGS)?.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(RING_PREFIX).and_then(|rest| rest.split('@').next());
        if owner.is_some_and(owner_is_gone) {
            // Another sweep may have been faster; what stays is found again at the next start.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(swept.killed.len())
}

/// Whether the process that made a marker or a ring folder is gone. What cannot be read is nobody's business of ours.
pub(super) fn owner_is_gone(owner: &str) -> bool {
    owner.parse::<Owner>().is_ok_and(|owner| owner.is_gone())
}
