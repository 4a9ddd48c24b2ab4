//! Edits as unified diffs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bystander_model::patch::EditDiff;
use bystander_model::typed::escaped;
use similar::{Algorithm, TextDiff};

use crate::error::EditError;
use crate::journal::write;
use crate::registry::Registry;
use crate::spec::PreparedEdit;

/// Lines around a change that are shown.
const CONTEXT: usize = 3;
/// Longer comparisons are made coarser.
const PATIENCE: Duration = Duration::from_secs(2);

/// The live edits of a user as unified diffs, oldest first.
///
/// # Errors
/// The registry cannot be read.
pub fn registry_diffs(registry_dir: &Path) -> Result<Vec<EditDiff>, EditError> {
    let registry = Registry { folder: registry_dir.to_path_buf() };
    let mut found = Vec::new();
    for entry in registry.entries()? {
        if registry.state(&entry)?.is_none() {
            continue;
        }
        let before = registry.before(&entry)?;
        let after = entry.after(&before).ok_or_else(|| EditError::DamagedCopy { path: entry.record.real.clone() })?;
        let now = write::look(&entry.record.real)?;
        let record = &entry.record;
        let text = unified(&record.real, &before, &after);
        let changed = now.is_none_or(|(bytes, _)| bytes != after);
        found.push((
            record.made.clone(),
            EditDiff { id: record.id.clone(), name: record.name.clone(), file: record.real.clone(), changed, text },
        ));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found.into_iter().map(|(_, diff)| diff).collect())
}

/// A prepared edit as a unified diff.
#[must_use]
pub fn prepared_diff(edit: &PreparedEdit) -> String {
    unified(&edit.file, &edit.before, &edit.after)
}

/// Bytes that are no UTF-8 stand as `\xff`.
fn unified(file: &Path, before: &[u8], after: &[u8]) -> String {
    let (before, after) = (escaped(before), escaped(after));
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_lines(&*before, &*after);
    let name = |side: &str| format!("{side}{}", PathBuf::from("/").join(file).display());
    diff.unified_diff().context_radius(CONTEXT).header(&name("a"), &name("b")).to_string()
}
