//! Edits that no next start of their own run undoes: the run was killed and never taken up, or its state directory is gone.
//!
//! An edit whose journal is there is undone through it, one whose journal is lost is adopted first. So any start of any run, and `patch revert`
//! from anywhere, finds the way back.

use std::path::{Path, PathBuf};

use crate::error::EditError;
use crate::journal::adopt::home;
use crate::journal::{Journal, Recovery};
use crate::registry::{Entry, Registry};

/// Undoes every edit of this user whose process is gone, whichever journal holds or has lost it.
///
/// # Errors
/// The registry cannot be read; an edit that cannot be undone is told in the answer.
pub fn recover_everywhere(registry_dir: &Path) -> Result<Recovery, EditError> {
    everywhere(registry_dir, Entry::is_abandoned, Journal::recover)
}

/// Undoes every edit of this user whose time is over, whichever journal holds or has lost it.
///
/// # Errors
/// The registry cannot be read; an edit that cannot be undone is told in the answer.
pub fn expire_everywhere(registry_dir: &Path) -> Result<Recovery, EditError> {
    everywhere(registry_dir, |entry| entry.record.is_expired(), Journal::expire)
}

fn everywhere(
    registry_dir: &Path,
    wanted: impl Fn(&Entry) -> bool,
    undo: impl Fn(&Journal) -> Result<Recovery, EditError>,
) -> Result<Recovery, EditError> {
    let registry = Registry { folder: std::path::absolute(registry_dir).map_err(EditError::io("find", registry_dir))? };
    let mut recovery = Recovery::default();
    let mut journals: Vec<PathBuf> = Vec::new();
    for entry in registry.entries()?.into_iter().filter(wanted) {
        match home(&registry, entry) {
            Ok(Some(state_dir)) if !journals.contains(&state_dir) => journals.push(state_dir),
            Ok(_) => {}
            Err(error) => recovery.failed.push(error),
        }
    }
    for state_dir in journals {
        match Journal::open(&state_dir, &registry.folder).and_then(|journal| undo(&journal)) {
            Ok(more) => {
                recovery.reverted.extend(more.reverted);
                recovery.failed.extend(more.failed);
            }
            Err(error) => recovery.failed.push(error),
        }
    }
    Ok(recovery)
}
