//! `bystander patch revert`: takes edits back, newest first; one that cannot be taken back keeps none of the others.

use bystander_edit::{EditError, Holder, Journal, registry_holders};
use bystander_host::folder_times::FolderTimes;
use bystander_model::patch::{EditState, EditStatus};
use bystander_model::typed;
use bystander_store::StateDir;

use super::{known, resolve};
use crate::failure::Failure;
use crate::output::Output;
use crate::state;

/// Undoes the named edits, wherever their journal is or was; or all of this state directory, or of this user. Gives what was undone.
pub(super) fn revert(
    journal: Option<&Journal>,
    ids: &[String],
    all: bool,
    state: Option<&StateDir>,
    output: &mut Output,
) -> Result<Vec<EditStatus>, Failure> {
    let own: Vec<String> = match journal {
        Some(journal) => journal.status().map_err(|error| state::of_edit(&error))?.into_iter().map(|edit| edit.id).collect(),
        None if ids.is_empty() && !all => return Err(no_state()),
        None => Vec::new(),
    };
    let mut live: Vec<EditStatus> = known(journal)?.into_iter().filter(|edit| edit.state != EditState::Reverted).collect();
    let wanted = resolve(ids, &live, "revert", state)?;
    live.retain(|edit| if ids.is_empty() { all || own.contains(&edit.id) } else { wanted.contains(&edit.id) });
    let holders = registry_holders(&state::registry()?).map_err(|error| state::of_edit(&error))?;
    let at_work: Vec<Holder> = holders.into_iter().map(|(_, holder)| holder).filter(|holder| !holder.gone && !holder.kept).collect();
    // The newest first: edits of one file lie on top of each other.
    live.reverse();
    // As text a time with fewer digits would come later.
    let made = |edit: &EditStatus| edit.made.parse::<jiff::Timestamp>().ok();
    live.sort_by_key(|edit| std::cmp::Reverse(made(edit)));
    let mut failed: Vec<EditError> = Vec::new();
    let mut reverted: Vec<EditStatus> = Vec::new();
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
                reverted.push(EditStatus { state: EditState::Reverted, ..edit.clone() });
            }
            Err(error) => failed.push(error),
        }
    }
    let Some(first) = failed.first() else { return Ok(reverted) };
    let mut failure = state::of_edit(first);
    failure = match first {
        EditError::Covered { above, id, .. } => failure.hint(typed::there(&format!("patch revert {above} {id}"))),
        EditError::Changed { .. } => failure.hint("run the same command again: it looks at the file as it is now"),
        _ => failure,
    };
    if failed.len() > 1 {
        failure = failure.hint(format!(
            "{} more edits could not be taken back either; `{}` lists them",
            failed.len() - 1,
            typed::there("patch status")
        ));
    }
    if live.len() > failed.len() {
        failure = failure.hint(format!("{} of {} edits were taken back", live.len() - failed.len(), live.len()));
    }
    Err(failure)
}

fn no_state() -> Failure {
    Failure::user("failed to find a state directory at or above the working directory").hint(format!(
        "name the one that holds the edit with --state DIR, or the edit itself, or take all back with --all; `{}` lists them",
        typed::there("patch status")
    ))
}
