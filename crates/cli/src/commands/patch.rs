//! `bystander patch`: edits on disk that can be taken back.

use std::path::Path;
use std::process::ExitCode;

use bystander_edit::{Journal, registry_status};
use bystander_model::FORMAT;
use bystander_model::patch::{EditState, PatchReport};
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
    let mut journal = state.as_ref().map(state::journal).transpose()?;
    if let PatchCommand::Revert { ids } = command {
        let journal = journal.as_mut().ok_or_else(no_state)?;
        revert(journal, ids, output)?;
    }
    let mut edits = journal.as_ref().map(Journal::status).transpose().map_err(|error| state::of_edit(&error))?.unwrap_or_default();
    let elsewhere = registry_status(&state::registry()?).map_err(|error| state::of_edit(&error))?;
    edits.extend(elsewhere.into_iter().filter(|edit| !edits.iter().any(|known| known.id == edit.id)).collect::<Vec<_>>());
    let problems = match (command, &journal) {
        (PatchCommand::Verify, Some(journal)) => journal.verify().map_err(|error| state::of_edit(&error))?,
        _ => Vec::new(),
    };
    let clean = problems.is_empty() && edits.iter().all(|edit| edit.state == EditState::Reverted);
    output.patch(&PatchReport { format: FORMAT, edits, clean, problems });
    Ok(ExitCode::from(if clean { exit::ANSWERED } else { exit::FAILED }))
}

fn revert(journal: &mut Journal, ids: &[String], output: &mut Output) -> Result<(), Failure> {
    let live: Vec<String> = journal
        .status()
        .map_err(|error| state::of_edit(&error))?
        .into_iter()
        .filter(|edit| edit.state != EditState::Reverted)
        .map(|edit| edit.id)
        .collect();
    if let Some(unknown) = ids.iter().find(|id| !live.contains(id)) {
        return Err(Failure::user(format!("failed to find a live edit {unknown}")).hint("`bystander patch status` lists them"));
    }
    // The newest first: edits of one file lie on top of each other.
    for id in live.iter().rev().filter(|id| ids.is_empty() || ids.contains(id)) {
        let undone = journal.revert(id).map_err(|error| state::of_edit(&error))?;
        output.say(&format!("{}: {} ({})", undone.file.display(), undone.how, undone.name));
    }
    Ok(())
}

fn no_state() -> Failure {
    Failure::user("failed to find a state directory at or above the working directory")
        .hint("name the one that holds the edit with --state DIR; `bystander patch status` shows it")
}
