//! Edits that live on other machines, as they were last seen: what is named and is not here may be there.

use std::path::{Component, Path};

use bystander_model::patch::{EditStatus, HostEdits};
use bystander_model::typed;

use crate::failure::Failure;

/// An edit that is not live on this machine: where else it is, by its id, its name or its file, and the command that goes on with it there.
pub(super) fn unknown(word: &str, verb: &str, here: &[EditStatus], seen: &[HostEdits]) -> Failure {
    let id = word.strip_prefix("bystander-patch-").unwrap_or(word);
    let is_meant = |edit: &&EditStatus| edit.name == word || (!id.is_empty() && edit.id.starts_with(id));
    let failure = Failure::user(format!("failed to find a live edit {word} on this machine"));
    let there = seen.iter().find_map(|host| said(host, &host.live().filter(is_meant).collect::<Vec<_>>(), verb));
    if let Some(there) = there {
        return failure.hint(there);
    }
    let of_here: Vec<&EditStatus> = here.iter().filter(|edit| is_file(edit, Path::new(word))).collect();
    if !of_here.is_empty() {
        return failure.hint(format!("edits are named by their ids: `{}`", typed::there(&format!("patch {verb} {}", ids(&of_here)))));
    }
    match seen.iter().find_map(|host| said(host, &of(host, Path::new(word)), verb)) {
        Some(there) => failure.hint(there),
        None => failure.hint(format!("`{}` lists them", typed::there("patch status"))),
    }
}

/// Where else a file or a folder is known to have live edits.
pub(super) fn of_file(seen: &[HostEdits], path: &Path) -> Option<String> {
    seen.iter().find_map(|host| said(host, &of(host, path), "revert"))
}

/// Where else an edit is known to be live.
pub(super) fn of_id(seen: &[HostEdits], id: &str) -> Option<String> {
    seen.iter().find_map(|host| said(host, &host.live().filter(|edit| edit.id == id).collect::<Vec<_>>(), "revert"))
}

fn of<'h>(host: &'h HostEdits, path: &Path) -> Vec<&'h EditStatus> {
    host.live().filter(|edit| is_file(edit, path)).collect()
}

/// Whether a path as it is typed may be that of an edit's file there, or of a folder above it: nobody here knows where relative paths begin there.
fn is_file(edit: &EditStatus, path: &Path) -> bool {
    let typed: std::path::PathBuf = path.components().filter(|part| !matches!(part, Component::CurDir)).collect();
    !typed.as_os_str().is_empty() && edit.file.ancestors().any(|above| above.ends_with(&typed) && above.file_name().is_some())
}

fn said(host: &HostEdits, edits: &[&EditStatus], verb: &str) -> Option<String> {
    let first = edits.first()?;
    let seen = host.as_of.as_deref().map(|time| format!(", as of {}", bystander_report::second(time))).unwrap_or_default();
    let others = if edits.len() > 1 { format!(" and {} more", edits.len() - 1) } else { String::new() };
    let (file, address, command, ids) = (first.file.display(), &host.address, &host.command, ids(edits));
    Some(format!("it is live on {address}, in {file}{others}{seen}: `{command} {verb} {ids}`"))
}

fn ids(edits: &[&EditStatus]) -> String {
    edits.iter().map(|edit| edit.id.as_str()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bystander_model::patch::{EditState, EditStatus};

    use super::is_file;

    #[test]
    fn a_file_there_is_meant_by_its_end_or_by_a_folder_above_it() {
        let edit = EditStatus {
            id: "0123456789ab".to_owned(),
            name: "patch".to_owned(),
            file: "/home/ann/engine/sizing.py".into(),
            state: EditState::Live,
            made: String::new(),
            expires: None,
            kept: true,
            folder: None,
            by: "1000".to_owned(),
            journal: "/home/ann/.bystander".into(),
        };
        let meant = ["sizing.py", "./sizing.py", "engine/sizing.py", "/home/ann/engine/sizing.py", "engine", "/home/ann"];
        assert!(meant.iter().all(|path| is_file(&edit, Path::new(path))));
        let others = ["", ".", "..", "/", "izing.py", "/engine/sizing.py", "other/sizing.py"];
        assert_eq!(others.iter().find(|path| is_file(&edit, Path::new(path))), None);
    }
}
