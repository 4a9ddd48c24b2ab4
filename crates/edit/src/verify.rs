//! Looks for everything that edits have left: their text, wrong metadata, bytecode, temporary files.
//!
//! A living edit of a living process is no problem. A file that others changed after an undo is theirs; only the
//! edit's own text in it is a problem.

use std::path::Path;

use bystander_model::patch::{EditState, PatchNote, Problem, ProblemKind};
use bystander_model::typed;

use crate::built;
use crate::bytecode::recompile::{self, Compared};
use crate::bytecode::{self, Origin};
use crate::error::EditError;
use crate::journal::disk::Disk;
use crate::journal::record::Record;
use crate::journal::write;
use crate::metadata::Metadata;
use crate::mtime::Stamp;
use crate::users::user;

/// What a look at everything that edits touched found.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is left behind.
    pub problems: Vec<Problem>,
    /// What is worth knowing.
    pub notes: Vec<PatchNote>,
}

/// Looks at the file of every record; what was built from edited sources is looked for below `root`.
pub(crate) fn verify(disk: &Disk, records: &[Record], root: Option<&Path>) -> Result<Findings, EditError> {
    let mut found = Findings::default();
    let problems = &mut found.problems;
    for (index, record) in records.iter().enumerate() {
        let current = write::look(&record.real).ok().flatten();
        let later = records[index + 1..].iter().any(|other| other.real == record.real);
        let under_living = records.iter().any(|other| other.real == record.real && other.state == EditState::Live);
        match record.state {
            EditState::Live => live(disk, record, later, current.as_ref(), problems),
            EditState::Conflict => problems.push(conflict(record)),
            EditState::Reverted if !under_living => {
                reverted(record, later, current.as_ref(), problems);
                found.notes.extend(taken_out(record, later, current.as_ref()));
            }
            EditState::Reverted => {}
        }
        if record.state == EditState::Reverted {
            bytecode(record, problems)?;
            root.into_iter().for_each(|root| builds(record, root, problems));
        }
    }
    proven(records, &mut found)?;
    Ok(found)
}

/// An edit that was taken out of a file that others changed: nobody can say that the file is what it would be without it.
fn taken_out(record: &Record, later: bool, current: Option<&(Vec<u8>, Metadata)>) -> Option<PatchNote> {
    let undone = record.undone.as_ref().filter(|undone| (!undone.exact || undone.kept) && !later)?;
    if undone.kept {
        let (_, metadata) = current.filter(|(_, metadata)| undone.ctime == Some(metadata.ctime))?;
        let text = format!(
            "since edit `{}` ({}) was made others changed its rights, and the undo kept that: {}",
            record.name,
            record.id,
            differences(&Metadata { mtime: metadata.mtime, ..record.original.clone() }, metadata)
        );
        return Some(PatchNote { file: Some(record.real.clone()), text });
    }
    let sum = current.map(|(bytes, _)| crate::encode::sha256(bytes));
    if sum.as_ref() == Some(&record.before.sha256) {
        return None;
    }
    let text = format!(
        "edit `{}` ({}) was {}; the file is not the one of before it (SHA-256 {}…)",
        record.name,
        record.id,
        undone.how,
        &record.before.sha256[..12]
    );
    Some(PatchNote { file: Some(record.real.clone()), text })
}

/// Names what was built from the edited text and was not built again.
fn builds(record: &Record, root: &Path, problems: &mut Vec<Problem>) {
    let Some(window) = record.undone.as_ref().filter(|_| record.renews).and_then(|undone| built::window(&record.made, &undone.at)) else {
        return;
    };
    for path in built::built_from(&record.real, root, window) {
        let text = format!(
            "{} was built while edit `{}` ({}) was in its source: build it again, the source is newer now",
            path.display(),
            record.name,
            record.id
        );
        problems.push(problem(record, ProblemKind::Build, text));
    }
}

/// Has interpreters compare the bytecode of files that no edit is in.
fn proven(records: &[Record], found: &mut Findings) -> Result<(), EditError> {
    let mut pairs = Vec::new();
    for record in records {
        let is_live = records.iter().any(|other| other.real == record.real && other.is_active());
        if is_live || pairs.iter().any(|(_, source)| *source == record.real) || !record.real.is_file() {
            continue;
        }
        let stamp = write::look(&record.real)?.map(|(bytes, metadata)| (Stamp::new(metadata.mtime, bytes.len()), bytes));
        for cached in bytecode::files(&record.real).map_err(EditError::io("list bytecode of", &record.real))? {
            // Bytecode that the interpreter will not use is nobody's problem.
            let used = Origin::read(&cached).zip(stamp.as_ref()).is_some_and(|(origin, (stamp, bytes))| {
                origin.hides_every_source() || origin.is(bytecode::Version { stamp: *stamp, bytes })
            });
            if used {
                pairs.push((cached, record.real.clone()));
            }
        }
    }
    for (cached, compared) in recompile::compare(&pairs) {
        match compared {
            Compared::Same => {}
            Compared::Different => {
                let text = "it is not what its interpreter makes of the source: remove it".to_owned();
                found.problems.push(Problem { file: cached, kind: ProblemKind::Bytecode, text });
            }
            Compared::Unknown(why) => {
                let text = format!("only its header was compared with its source: {why}");
                found.notes.push(PatchNote { file: Some(cached), text });
            }
        }
    }
    Ok(())
}

fn problem(record: &Record, kind: ProblemKind, text: String) -> Problem {
    Problem { file: record.real.clone(), kind, text }
}

fn live(disk: &Disk, record: &Record, later: bool, current: Option<&(Vec<u8>, Metadata)>, problems: &mut Vec<Problem>) {
    let (name, id) = (&record.name, &record.id);
    if record.is_expired() {
        let text = format!("the time of edit `{name}` ({id}) is over: run `{}`", typed::there(&format!("patch revert {id}")));
        problems.push(problem(record, ProblemKind::Marker, text));
    } else if record.is_abandoned() {
        let (process, undo) = (record.process.pid, typed::there("patch revert"));
        let text = format!("edit `{name}` ({id}) was left by process {process}, which is gone: run `{undo}`");
        problems.push(problem(record, ProblemKind::Marker, text));
    } else if !later && current.is_none_or(|(bytes, _)| crate::encode::sha256(bytes) != record.after.sha256) {
        let text = format!("others changed the file while edit `{name}` ({id}) is in it; its undo keeps their changes");
        problems.push(problem(record, ProblemKind::Bytes, text));
    }
    for (kind, version) in [("before", &record.before), ("after", &record.after)] {
        if let Err(error) = disk.read_copy(id, kind, version) {
            problems.push(problem(record, ProblemKind::Bytes, format!("edit `{name}` ({id}) cannot be undone exactly: failed to {error}")));
        }
    }
}

fn conflict(record: &Record) -> Problem {
    let why = record.conflict.as_deref().unwrap_or("its undo found a conflict");
    problem(record, ProblemKind::Marker, format!("edit `{}` ({}) is not undone: {why}", record.name, record.id))
}

fn reverted(record: &Record, later: bool, current: Option<&(Vec<u8>, Metadata)>, problems: &mut Vec<Problem>) {
    let (name, id) = (&record.name, &record.id);
    if record.temporary(&record.real).exists() {
        let text = format!("the temporary file {} of edit `{name}` ({id}) is left: remove it", record.temporary(&record.real).display());
        problems.push(problem(record, ProblemKind::Bytes, text));
    }
    let Some((bytes, metadata)) = current else { return };
    // The newest edit with a text speaks for the earlier ones that put in the same.
    if !later && record.is_in(bytes) {
        let text =
            format!("the text of edit `{name}` ({id}) is in the file again, perhaps saved by an editor that had it open: take it out");
        problems.push(problem(record, ProblemKind::Marker, text));
    }
    let Some(undone) = record.undone.as_ref().filter(|undone| undone.exact && !later && undone.ctime == Some(metadata.ctime)) else {
        return;
    };
    if undone.sha256.as_ref() != Some(&crate::encode::sha256(bytes)) {
        problems.push(problem(record, ProblemKind::Bytes, format!("the bytes are not those that the undo of edit `{name}` ({id}) left")));
    }
    // What others gave the file between the edit and its undo is theirs.
    if record.before.sha256 == crate::encode::sha256(bytes)
        && ((!undone.kept && !record.original.same_rights(metadata)) || (record.original.mtime != metadata.mtime && !record.renews))
    {
        let text = format!(
            "mode, owner, times or attributes are not those of before edit `{name}` ({id}): {}",
            differences(&record.original, metadata)
        );
        problems.push(problem(record, ProblemKind::Metadata, text));
    }
}

fn differences(was: &Metadata, is: &Metadata) -> String {
    let mut said = Vec::new();
    if was.mode != is.mode {
        said.push(format!("mode is {:04o}, was {:04o}", is.mode, was.mode));
    }
    if (was.uid, was.gid) != (is.uid, is.gid) {
        said.push(format!("owner is {}:{}, was {}:{}", user(is.uid), is.gid, user(was.uid), was.gid));
    }
    if was.mtime != is.mtime {
        said.push(format!("modification time is {}.{:09}, was {}.{:09}", is.mtime.s, is.mtime.ns, was.mtime.s, was.mtime.ns));
    }
    if was.xattrs != is.xattrs {
        said.push("extended attributes differ".to_owned());
    }
    said.join(", ")
}

fn bytecode(record: &Record, problems: &mut Vec<Problem>) -> Result<(), EditError> {
    let edited = record.stamps().1;
    let is_edited = |path: &Path| matches!(Origin::read(path), Some(Origin::Stamped(stamp)) if stamp == edited);
    let found = bytecode::files(&record.real).map_err(EditError::io("list bytecode of", &record.real))?;
    for path in found.iter().filter(|path| is_edited(path)) {
        let text = format!("{} was made from the text of edit `{}` ({}): remove it", path.display(), record.name, record.id);
        problems.push(problem(record, ProblemKind::Bytecode, text));
    }
    Ok(())
}
