//! What a command of the far end has left that was killed, taken back as the next command would do it.
//!
//! Its warden outlives it, so that nobody has to type another one: an edit of a trial stays on disk no longer than its trial.

use std::error::Error;
use std::path::Path;

use bystander_edit::{Journal, Recovery, default_registry_dir, recover_everywhere, registry_holders, registry_status};
use bystander_model::chain::with_causes;

use super::message::{Cleared, Stuck};
use crate::folder_times::FolderTimes;
use crate::local::left;

/// So much of each sort is told: the end of a command has room for no more.
const MOST: usize = 6;
/// Bytes of one of them.
const LONGEST: usize = 160;

/// Takes back what the dead command of this number has left, and says what came of it; `state` is its state directory.
pub(super) fn clear(state: Option<&Path>, pid: u32) -> Cleared {
    let mut cleared = Cleared::default();
    match left::end_programs() {
        Ok(ended) => cleared.ended = ended,
        Err(error) => cleared.trouble.push(told(&*error)),
    }
    let Some(registry) = default_registry_dir() else {
        cleared.trouble.push("the environment names no home, so that live edits cannot be found".to_owned());
        return cleared;
    };
    match undo(state, &registry) {
        Ok(recovery) => {
            cleared.undone = recovery.reverted.iter().map(|edit| format!("{}: {}", edit.file.display(), edit.how)).collect();
            cleared.trouble.extend(recovery.failed.iter().map(|error| told(error)));
        }
        Err(error) => cleared.trouble.push(told(&*error)),
    }
    // What stands there now decides, whatever was tried.
    match registry_holders(&registry) {
        Ok(holders) => {
            for (file, holder) in holders {
                if holder.gone && !holder.kept {
                    cleared.stuck.push(Stuck { id: holder.id, file: short(&file.display().to_string()) });
                } else if holder.kept && holder.pid == pid {
                    cleared.kept.push(format!("{} ({})", file.display(), holder.id));
                }
            }
        }
        Err(error) => cleared.trouble.push(told(&error)),
    }
    shortened(cleared)
}

/// Undoes every edit whose process is gone and that was not to outlive it.
fn undo(state: Option<&Path>, registry: &Path) -> Result<Recovery, Box<dyn Error + Send + Sync>> {
    let live = registry_status(registry).unwrap_or_default();
    let times = FolderTimes::of(live.iter().map(|edit| edit.file.as_path()));
    // Its own journal first: it may hold what no registry lists.
    let own = state.map(|state| Journal::open(state, registry).and_then(|journal| journal.recover())).transpose();
    let everywhere = recover_everywhere(registry);
    // What counts is that the files are as before; a folder's time is a courtesy.
    let _ = times.give_back();
    let mut recovery = own?.unwrap_or_default();
    let more = everywhere?;
    recovery.reverted.extend(more.reverted);
    // An edit that its own journal could not take back is tried once more by the registry, and fails alike.
    if recovery.failed.is_empty() {
        recovery.failed = more.failed;
    }
    Ok(recovery)
}

fn told(error: &(dyn Error + 'static)) -> String {
    format!("failed to {}", with_causes(error))
}

/// The first of each sort, in so many bytes.
fn shortened(mut cleared: Cleared) -> Cleared {
    for texts in [&mut cleared.undone, &mut cleared.kept, &mut cleared.trouble] {
        let more = texts.len().saturating_sub(MOST);
        texts.truncate(MOST);
        texts.iter_mut().for_each(|text| *text = short(text));
        if more > 0 {
            texts.push(format!("{more} more"));
        }
    }
    cleared.stuck.truncate(MOST);
    cleared
}

/// A text without its middle, where it is too long: files are told by their ends.
fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let (head, tail) = (LONGEST / 2, LONGEST / 2);
    let chars: Vec<char> = text.chars().collect();
    chars[..head].iter().chain(&['\u{2026}']).chain(&chars[count - tail..]).collect()
}
