//! `bystander patch hits`: what probes in files have recorded so far. Looking takes nothing away: a copy of the rings is read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bystander_edit::Journal;
use bystander_model::hit::{Hit, Receipt};
use bystander_model::ids::TimeNs;
use bystander_model::patch::{EditState, EditStatus, PatchNote};
use bystander_model::typed;
use bystander_probe::Drain;
use bystander_store::StateDir;

use super::{known, live_there, resolve};
use crate::failure::{Failure, exit};
use crate::output::Output;

/// Prints the hits of the named probe edits, or of all.
pub(super) fn run(ids: &[String], journal: Option<&Journal>, state: Option<&StateDir>, output: &mut Output) -> Result<ExitCode, Failure> {
    let edits = known(journal)?;
    let asked = resolve(ids, &edits, "hits", state)?;
    let wanted: Vec<&EditStatus> =
        edits.iter().filter(|edit| edit.folder.is_some() && (ids.is_empty() || asked.contains(&edit.id))).collect();
    let mut folders: Vec<&PathBuf> = wanted.iter().filter_map(|edit| edit.folder.as_ref()).collect();
    folders.sort();
    folders.dedup();
    let mut hits: Vec<Hit> = Vec::new();
    let mut unrecorded: Vec<String> = Vec::new();
    for folder in folders {
        let read = read(folder)
            .map_err(|error| Failure::environment(format!("failed to read the hits in {}", folder.display())).because(&error))?;
        let is_wanted = |hit: &Hit| wanted.iter().any(|edit| edit.folder.as_ref() == Some(folder) && edit.name == hit.probe);
        for edit in wanted.iter().filter(|edit| edit.folder.as_ref() == Some(folder)) {
            unrecorded.extend(said_unrecorded(edit, &read));
        }
        hits.extend(read.hits.into_iter().filter(is_wanted));
    }
    hits.sort_by_key(|hit| hit.time_ns);
    if hits.is_empty() {
        output
            .say("no hits so far: no process has passed a probe since it was put in; processes that had loaded the file before never will");
    }
    let mut names: Vec<String> = wanted.iter().map(|edit| edit.name.clone()).collect();
    names.dedup();
    let started = hits.first().map_or(0, |hit| hit.time_ns);
    let mut to = output.recorded_hits(TimeNs(started), names);
    // A reader that went away has read what it wanted.
    to.print(&hits);
    unrecorded.iter().for_each(|text| output.say(text));
    if ids.is_empty() {
        output.live_elsewhere(&live_there(state), "hits");
    }
    Ok(ExitCode::from(exit::ANSWERED))
}

/// How many hits each live probe edit has.
pub(super) fn notes(edits: &[EditStatus]) -> Vec<PatchNote> {
    let live = edits.iter().filter(|edit| edit.state == EditState::Live);
    let mut by_folder: BTreeMap<&Path, Result<Recorded, io::Error>> = BTreeMap::new();
    let mut notes = Vec::new();
    for edit in live {
        let Some(folder) = &edit.folder else { continue };
        let text = match by_folder.entry(folder).or_insert_with(|| read(folder)) {
            Ok(read) => {
                let count = read.hits.iter().filter(|hit| hit.probe == edit.name).count();
                let missing = match read.unrecorded(&edit.name) {
                    0 => String::new(),
                    missing => format!(", {missing} more were not recorded"),
                };
                format!(
                    "probe `{}` ({}) has {} recorded{missing}: `{}` prints them",
                    edit.name,
                    edit.id,
                    bystander_report::count(count, "hit", "hits"),
                    typed::there(&format!("patch hits {}", edit.id))
                )
            }
            Err(error) => format!("the hits of probe `{}` ({}) cannot be read: {error}", edit.name, edit.id),
        };
        notes.push(PatchNote { file: Some(edit.file.clone()), text });
    }
    notes
}

/// What the rings of a folder hold.
struct Recorded {
    hits: Vec<Hit>,
    receipts: Vec<Receipt>,
}

impl Recorded {
    /// How many hits of a probe found its limit, its rate or the end of the room, in all processes.
    fn unrecorded(&self, probe: &str) -> u64 {
        let of = self.receipts.iter().filter(|receipt| receipt.probe == probe);
        of.map(|receipt| receipt.dropped.unwrap_or(0) + receipt.throttled.unwrap_or(0)).sum()
    }
}

/// What is missing among the hits of a probe.
fn said_unrecorded(edit: &EditStatus, read: &Recorded) -> Option<String> {
    let missing = read.unrecorded(&edit.name);
    if missing == 0 {
        return None;
    }
    let passes: u64 = read.receipts.iter().filter(|receipt| receipt.probe == edit.name).filter_map(|receipt| receipt.passes).sum();
    let recorded = read.hits.iter().filter(|hit| hit.probe == edit.name).count();
    Some(format!(
        "probe `{}`: {passes} passes, {recorded} hits recorded, {missing} not recorded (its limit or rate): put `limit N` into the probe for more",
        edit.name
    ))
}

/// Reads a copy of the rings, because a reader frees what it has read.
fn read(folder: &Path) -> Result<Recorded, io::Error> {
    let (probes, rings) = super::probes::load(folder)?;
    let copy = folder.join(format!("read-{}", std::process::id()));
    let read = || -> io::Result<Recorded> {
        fs::create_dir_all(&copy)?;
        for entry in fs::read_dir(&rings)? {
            let entry = entry?;
            fs::copy(entry.path(), copy.join(entry.file_name()))?;
        }
        let (hits, receipts) = Drain::new(&copy, &probes).finish().map_err(io::Error::other)?;
        Ok(Recorded { hits, receipts })
    };
    let found = read();
    fs::remove_dir_all(&copy)?;
    found
}
