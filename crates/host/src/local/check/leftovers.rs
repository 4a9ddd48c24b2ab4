//! Edits that killed runs have left in what a program loads, and that could not be taken back.

use std::path::{Path, PathBuf};

use bystander_edit::{EditError, registry_holders};
use bystander_lab::plan::Plan;
use bystander_model::diagnostic::Diagnostic;
use bystander_model::typed;

/// Names every such edit in an instrumented file or in one of the folders that the program loads from: a baseline that holds one is none.
pub(in crate::local) fn check(plan: &Plan, folders: &[PathBuf], registry: &Path, problems: &mut Vec<Diagnostic>) {
    match found(plan, folders, registry) {
        Ok(found) => problems.extend(found),
        Err(error) => problems.push(
            // An entry of a newer version, say: it keeps nobody from running a program, and every edit is refused by its own claim.
            Diagnostic::warning("edit.left", format!("it cannot be told whether killed runs have left edits: {error}"))
                .help(format!("`{}` reads the same list", typed::there("patch status"))),
        ),
    }
}

fn found(plan: &Plan, folders: &[PathBuf], registry: &Path) -> Result<Vec<Diagnostic>, EditError> {
    let folders: Vec<PathBuf> = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
    let instrumented: Vec<PathBuf> = plan.edits.iter().filter_map(|edit| edit.file.canonicalize().ok()).collect();
    let is_loaded = |file: &PathBuf| instrumented.contains(file) || folders.iter().any(|folder| file.starts_with(folder));
    let left = registry_holders(registry)?.into_iter().filter(|(file, holder)| holder.gone && is_loaded(file));
    Ok(left
        .map(|(file, holder)| {
            let message =
                format!("{} holds edit `{}` of a run that was killed, and it could not be taken back", file.display(), holder.name);
            Diagnostic::error("edit.left", message)
                .help(format!("`{}` takes it back or says why not", typed::there(&format!("patch revert {}", holder.id))))
        })
        .collect())
}
