//! `bystander patch revert`: takes edits back, newest first; one that cannot be taken back keeps none of the others.

use bystander_edit::{EditError, Holder, Journal, registry_holders};
use bystander_host::folder_times::FolderTimes;
use bystander_model::patch::{EditState, EditStatus};

use super::{known, unknown_edit};
use crate::failure::Failure;
use crate::output::Output;
use crate::state;

/// Undoes the named edits, wherever their journal is or was; or all of this state directory, or of this user.
pub(super) fn revert(journal: Option<&Journal>, ids: &[String], all: bool, output: &mut Output) -> Result<(), Failure> {
    let own: Vec<String> = match journal {
        Some(journal) => journal.status().map_err(|error| state::of_edit(&error))?.into_iter().map(|edit| edit.id).collect(),
        None if ids.is_empty() && !all => return Err(no_state()),
        None => Vec::new(),
    };
    let ids: Vec<&str> = ids.iter().map(|id| id.strip_prefix("bystander-patch-").unwrap_or(id)).collect();
    let mut live: Vec<EditStatus> = known(journal)?.into_iter().filter(|edit| edit.state != EditState::Reverted).collect();
    if let Some(unknown) = ids.iter().find(|id| !live.iter().any(|edit| edit.id == **id)) {
        return Err(unknown_edit(unknown));
    }
    live.retain(|edit| if ids.is_empty() { all || own.contains(&edit.id) } else { ids.contains(&edit.id.as_str()) });
    let holders = registry_holders(&state::registry()?).map_err(|error| state::of_edit(&error))?;
    let at_work: Vec<Holder> = holders.into_iter().map(|(_, holder)| holder).filter(|holder| !holder.gone && !holder.kept).collect();
    // The newest first: edits of one file lie on top of each other.
    live.reverse();
    live.sort_by(|a, b| b.made.cmp(&a.made));
    let mut failed: Vec<EditError> = Vec::new();
    for edit in &live {
        let times = FolderTimes::of([edit.file.as_path()]);
        let undone = Journal::open(&edit.journal, &state::registry()?).and_then(|journal| journal.revert(&edit.id));
        // What counts is that the file is as before; its folder's time is a courtesy.
        let _ = times.give_back();
        match undone {
            Ok(undone) => {
                if let Some(holder) = at_work.iter().find(|holder| holder.id == edit.id) {
                    let file = edit.file.display();
                    output.say(&format!("{file}: process {} is at work with it: its trial is no data point any more", holder.pid));
                }
                output.say(&format!("{}: {} ({})", undone.file.display(), undone.how, undone.name));
            }
            Err(error) => failed.push(error),
        }
    }
    let Some(first) = failed.first() else { return Ok(()) };
    let mut failure = state::of_edit(first);
    if failed.len() > 1 {
        failure =
            failure.hint(format!("{} more edits could not be taken back either; `bystander patch status` lists them", failed.len() - 1));
    }
    if live.len() > failed.len() {
        failure = failure.hint(format!("{} of {} edits were taken back", live.len() - failed.len(), live.len()));
    }
    Err(failure)
}

fn no_state() -> Failure {
    Failure::user("failed to find a state directory at or above the working directory")
        .hint("name the one that holds the edit with --state DIR, or the edit itself, or take all back with --all; `bystander patch status` lists them")
}
