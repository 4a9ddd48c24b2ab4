//! `bystander patch`: edits on disk that can be taken back.

use std::path::Path;
use std::process::ExitCode;

use bystander_edit::{Holder, Journal, registry_holders, registry_status};
use bystander_host::folder_times::FolderTimes;
use bystander_model::FORMAT;
use bystander_model::patch::{EditState, EditStatus, PatchReport};
use bystander_store::StateDir;

use crate::args::PatchCommand;
use crate::failure::{Failure, exit};
use crate::output::Output;
use crate::state;

/// Carries out one verb of `patch`.
pub(crate) fn run(command: &PatchCommand, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    let state = match named {
        Some(path) => Some(StateDir::open_existing(path).map_err(|error| state::of_state(&error))?),
        None => StateDir::find(Path::new(".")).map_err(|error| state::of_state(&error))?,
    };
    let journal = state.as_ref().map(state::journal).transpose()?;
    if let PatchCommand::Revert { ids } = command {
        revert(journal.as_ref(), ids, output)?;
    }
    let edits = known(journal.as_ref())?;
    let problems = match (command, &journal) {
        (PatchCommand::Verify, Some(journal)) => journal.verify().map_err(|error| state::of_edit(&error))?,
        _ => Vec::new(),
    };
    let clean = problems.is_empty() && edits.iter().all(|edit| edit.state == EditState::Reverted);
    output.patch(&PatchReport { format: FORMAT, edits, clean, problems });
    Ok(ExitCode::from(if clean { exit::ANSWERED } else { exit::FAILED }))
}

/// The edits of this state directory, and the live ones of this user everywhere else.
fn known(journal: Option<&Journal>) -> Result<Vec<EditStatus>, Failure> {
    let mut edits = journal.map(Journal::status).transpose().map_err(|error| state::of_edit(&error))?.unwrap_or_default();
    let elsewhere = registry_status(&state::registry()?).map_err(|error| state::of_edit(&error))?;
    let elsewhere: Vec<EditStatus> = elsewhere.into_iter().filter(|edit| !edits.iter().any(|known| known.id == edit.id)).collect();
    edits.extend(elsewhere);
    Ok(edits)
}

/// Undoes the named edits, wherever their journal is or was, or all of this state directory.
fn revert(journal: Option<&Journal>, ids: &[String], output: &mut Output) -> Result<(), Failure> {
    let own: Vec<String> = match journal {
        Some(journal) => journal.status().map_err(|error| state::of_edit(&error))?.into_iter().map(|edit| edit.id).collect(),
        None if ids.is_empty() => return Err(no_state()),
        None => Vec::new(),
    };
    let mut live: Vec<EditStatus> = known(journal)?.into_iter().filter(|edit| edit.state != EditState::Reverted).collect();
    if let Some(unknown) = ids.iter().find(|id| !live.iter().any(|edit| edit.id == **id)) {
        return Err(Failure::user(format!("failed to find a live edit {unknown}")).hint("`bystander patch status` lists them"));
    }
    live.retain(|edit| if ids.is_empty() { own.contains(&edit.id) } else { ids.contains(&edit.id) });
    let holders = registry_holders(&state::registry()?).map_err(|error| state::of_edit(&error))?;
    let at_work: Vec<Holder> = holders.into_iter().map(|(_, holder)| holder).filter(|holder| !holder.gone).collect();
    // The newest first: edits of one file lie on top of each other.
    live.sort_by(|a, b| (&b.made, &b.id).cmp(&(&a.made, &a.id)));
    for edit in live {
        let journal = Journal::open(&edit.journal, &state::registry()?).map_err(|error| state::of_edit(&error))?;
        let times = FolderTimes::of([edit.file.as_path()]);
        let undone = journal.revert(&edit.id);
        // What counts is that the file is as before; its folder's time is a courtesy.
        let _ = times.give_back();
        let undone = undone.map_err(|error| state::of_edit(&error))?;
        if let Some(holder) = at_work.iter().find(|holder| holder.id == edit.id) {
            output.say(&format!("{}: process {} is at work with it: its trial is no data point any more", edit.file.display(), holder.pid));
        }
        output.say(&format!("{}: {} ({})", undone.file.display(), undone.how, undone.name));
    }
    Ok(())
}

fn no_state() -> Failure {
    Failure::user("failed to find a state directory at or above the working directory")
        .hint("name the one that holds the edit with --state DIR, or the edit itself; `bystander patch status` shows both")
}
