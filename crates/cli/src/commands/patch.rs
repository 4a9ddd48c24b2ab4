//! `bystander patch`: edits on disk that can be taken back.

mod apply;
pub(crate) mod expire;
mod hits;
mod probes;
mod revert;
mod there;
mod verify;

pub(super) use apply::{state_path, text_of};

use std::path::Path;
use std::process::ExitCode;

use bystander_edit::{Journal, default_registry_dir, others, registry_diffs, registry_status};
use bystander_model::FORMAT;
use bystander_model::patch::{DiffReport, EditState, EditStatus, HostEdits, PatchNote, PatchReport};
use bystander_store::StateDir;

use crate::args::PatchCommand;
use crate::commands::on::{elsewhere, last_seen};
use crate::failure::{Failure, exit};
use crate::output::{Output, users};
use crate::state;

/// Where the users of this machine are listed.
const PASSWD: &str = "/etc/passwd";

/// Carries out one verb of `patch`.
pub(crate) fn run(command: &PatchCommand, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        PatchCommand::Apply(args) => return apply::run(args, named, output),
        PatchCommand::Verify(args) if args.staged => return verify::staged(output),
        _ => {}
    }
    let state = match named {
        Some(path) => Some(StateDir::open_existing(path).map_err(|error| state::of_state(&error))?),
        None => StateDir::find(Path::new(".")).map_err(|error| state::of_state(&error))?,
    };
    let journal = state.as_ref().map(state::journal).transpose()?;
    match command {
        PatchCommand::Diff { ids } => return diff(ids, state.as_ref(), output),
        PatchCommand::Hits { ids } => return hits::run(ids, journal.as_ref(), state.as_ref(), output),
        PatchCommand::Revert { ids, all } => {
            let reverted = revert::revert(journal.as_ref(), ids, *all, state.as_ref(), output)?;
            let live = known(journal.as_ref())?.iter().filter(|edit| edit.state != EditState::Reverted).count();
            let (users, hosts) = (users(&reverted), live_there(state.as_ref()));
            let clean = live == 0 && hosts.is_empty();
            output.reverted(&PatchReport { format: FORMAT, clean, edits: reverted, users, hosts, ..PatchReport::default() }, live);
            return Ok(ExitCode::from(exit::ANSWERED));
        }
        _ => {}
    }
    let mut report = PatchReport { format: FORMAT, edits: known(journal.as_ref())?, ..PatchReport::default() };
    match command {
        PatchCommand::Status => {
            let seen = others(Path::new(PASSWD), &state::registry()?);
            report.edits.extend(seen.edits);
            report.unseen = seen.unseen;
            report.notes.extend(hits::notes(&report.edits));
            if let Some(state) = &state {
                report.hosts = elsewhere(state, output)?;
            }
        }
        PatchCommand::Verify(args) => verify::verify(args, journal.as_ref(), state.as_ref(), &mut report)?,
        _ => {}
    }
    let nothing_live = report.edits.iter().all(|edit| edit.state == EditState::Reverted);
    // A machine that cannot be asked may hold more than was seen.
    let elsewhere = report.hosts.iter().all(HostEdits::is_clean);
    report.clean = elsewhere && report.problems.is_empty() && nothing_live && report.notes.iter().all(|note| !verify::is_debugger(note));
    report.users = users(&report.edits);
    output.patch(&report);
    Ok(ExitCode::from(if report.clean { exit::ANSWERED } else { exit::FAILED }))
}

/// The edits of this state directory, and the live ones of this user everywhere else.
fn known(journal: Option<&Journal>) -> Result<Vec<EditStatus>, Failure> {
    let mut edits = journal.map(Journal::status).transpose().map_err(|error| state::of_edit(&error))?.unwrap_or_default();
    let elsewhere = registry_status(&state::registry()?).map_err(|error| state::of_edit(&error))?;
    let elsewhere: Vec<EditStatus> = elsewhere.into_iter().filter(|edit| !edits.iter().any(|known| known.id == edit.id)).collect();
    edits.extend(elsewhere);
    Ok(edits)
}

/// The machines on which edits were live when they were last seen: a verb without names has left them alone.
fn live_there(state: Option<&StateDir>) -> Vec<HostEdits> {
    last_seen(state).into_iter().filter(|host| host.live().next().is_some()).collect()
}

/// Prints live edits as unified diffs.
fn diff(ids: &[String], state: Option<&StateDir>, output: &mut Output) -> Result<ExitCode, Failure> {
    let registry = state::registry()?;
    let live = registry_status(&registry).map_err(|error| state::of_edit(&error))?;
    let wanted = resolve(ids, &live, "diff", state)?;
    let mut edits = registry_diffs(&registry).map_err(|error| state::of_edit(&error))?;
    edits.retain(|edit| ids.is_empty() || wanted.contains(&edit.id));
    let hosts = if ids.is_empty() { live_there(state) } else { Vec::new() };
    output.edit_diffs(&DiffReport { format: FORMAT, edits, hosts });
    Ok(ExitCode::from(exit::ANSWERED))
}

/// The ids of what was typed for a verb: an id, the word in a mark, the beginning of one id, or a name, which stands for every edit that has it.
fn resolve(typed: &[String], edits: &[EditStatus], verb: &str, state: Option<&StateDir>) -> Result<Vec<String>, Failure> {
    let unknown = |word: &str| there::unknown(word, verb, edits, &last_seen(state));
    let edits: Vec<(&str, &str)> = edits.iter().map(|edit| (edit.id.as_str(), edit.name.as_str())).collect();
    let mut found: Vec<String> = Vec::new();
    for word in typed {
        let id = word.strip_prefix("bystander-patch-").unwrap_or(word);
        let of =
            |is: &dyn Fn(&str, &str) -> bool| -> Vec<&str> { edits.iter().filter(|(id, name)| is(id, name)).map(|(id, _)| *id).collect() };
        let exact = of(&|known, _| known == id);
        let begins = || of(&|known, _| !id.is_empty() && known.starts_with(id));
        let named = || of(&|_, name| name == word);
        let ids = [exact, named(), begins()].into_iter().find(|ids| !ids.is_empty()).ok_or_else(|| unknown(word))?;
        if ids.len() > 1 && named().is_empty() {
            return Err(Failure::user(format!("failed to tell which edit {word} is: {}", ids.join(", "))).hint("write more of its id"));
        }
        found.extend(ids.into_iter().map(str::to_owned));
    }
    Ok(found)
}

/// A note about no file.
fn note(text: String) -> PatchNote {
    PatchNote { file: None, text }
}

/// The registry of this user, if there is one on disk.
fn registry_if_there() -> Option<std::path::PathBuf> {
    default_registry_dir().filter(|folder| folder.is_dir())
}
