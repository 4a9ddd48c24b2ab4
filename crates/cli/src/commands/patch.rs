//! `bystander patch`: edits on disk that can be taken back.

mod apply;
pub(crate) mod expire;
mod hits;
mod probes;
mod revert;
mod verify;

use std::path::Path;
use std::process::ExitCode;

use bystander_edit::{Journal, default_registry_dir, others, registry_diffs, registry_status};
use bystander_model::FORMAT;
use bystander_model::patch::{DiffReport, EditState, EditStatus, PatchNote, PatchReport};
use bystander_store::StateDir;

use crate::args::PatchCommand;
use crate::failure::{Failure, exit};
use crate::output::Output;
use crate::state;

/// Where the users of this machine are listed.
const PASSWD: &str = "/etc/passwd";

/// Carries out one verb of `patch`.
pub(crate) fn run(command: &PatchCommand, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        PatchCommand::Apply(args) => return apply::run(args, named, output),
        PatchCommand::Diff { ids } => return diff(ids, output),
        PatchCommand::Hits { ids } => return hits::run(ids, output),
        PatchCommand::Verify(args) if args.staged => return verify::staged(output),
        PatchCommand::Status | PatchCommand::Revert { .. } | PatchCommand::Verify(_) => {}
    }
    let state = match named {
        Some(path) => Some(StateDir::open_existing(path).map_err(|error| state::of_state(&error))?),
        None => StateDir::find(Path::new(".")).map_err(|error| state::of_state(&error))?,
    };
    let journal = state.as_ref().map(state::journal).transpose()?;
    if let PatchCommand::Revert { ids, all } = command {
        revert::revert(journal.as_ref(), ids, *all, output)?;
    }
    let mut report = PatchReport { format: FORMAT, edits: known(journal.as_ref())?, ..PatchReport::default() };
    match command {
        PatchCommand::Status => {
            let seen = others(Path::new(PASSWD), &state::registry()?);
            report.edits.extend(seen.edits);
            report.unseen = seen.unseen;
            report.notes.extend(hits::notes(&report.edits));
        }
        PatchCommand::Verify(args) => verify::verify(args, journal.as_ref(), state.as_ref(), &mut report)?,
        _ => {}
    }
    let nothing_live = report.edits.iter().all(|edit| edit.state == EditState::Reverted);
    report.clean = report.problems.is_empty() && nothing_live && report.notes.iter().all(|note| !verify::is_debugger(note));
    output.patch(&report);
    // What was asked for was undone, or the command has failed: what else is live is told, and is no failure of this one.
    let answered = report.clean || matches!(command, PatchCommand::Revert { .. });
    Ok(ExitCode::from(if answered { exit::ANSWERED } else { exit::FAILED }))
}

/// The edits of this state directory, and the live ones of this user everywhere else.
fn known(journal: Option<&Journal>) -> Result<Vec<EditStatus>, Failure> {
    let mut edits = journal.map(Journal::status).transpose().map_err(|error| state::of_edit(&error))?.unwrap_or_default();
    let elsewhere = registry_status(&state::registry()?).map_err(|error| state::of_edit(&error))?;
    let elsewhere: Vec<EditStatus> = elsewhere.into_iter().filter(|edit| !edits.iter().any(|known| known.id == edit.id)).collect();
    edits.extend(elsewhere);
    Ok(edits)
}

/// Prints live edits as unified diffs.
fn diff(ids: &[String], output: &mut Output) -> Result<ExitCode, Failure> {
    let mut edits = registry_diffs(&state::registry()?).map_err(|error| state::of_edit(&error))?;
    if let Some(unknown) = ids.iter().find(|id| !edits.iter().any(|edit| edit.id == **id)) {
        return Err(unknown_edit(unknown));
    }
    edits.retain(|edit| ids.is_empty() || ids.contains(&edit.id));
    output.edit_diffs(&DiffReport { format: FORMAT, edits });
    Ok(ExitCode::from(exit::ANSWERED))
}

fn unknown_edit(id: &str) -> Failure {
    Failure::user(format!("failed to find a live edit {id}")).hint("`bystander patch status` lists them")
}

/// A note about no file.
fn note(text: String) -> PatchNote {
    PatchNote { file: None, text }
}

/// The registry of this user, if there is one on disk.
fn registry_if_there() -> Option<std::path::PathBuf> {
    default_registry_dir().filter(|folder| folder.is_dir())
}
