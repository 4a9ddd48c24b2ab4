//! Edits that will not be on disk: built like the others, also for files that this user may not write.

use std::path::PathBuf;

use bystander_edit::{EditSpec, PrepareError, PreparedEdit, TargetError, prepare_in, prepare_stack};
use sha2::{Digest, Sha256};

/// Prepares edits that lie on top of each other, for mounting: the files need to be readable only.
///
/// # Errors
/// The first edit that cannot be made.
pub fn prepare(specs: &[EditSpec]) -> Result<Vec<PreparedEdit>, PrepareError> {
    match prepare_stack(specs) {
        Err(PrepareError::Target(error)) if is_about_writing(&error) => {}
        done => return done,
    }
    let mut made: Vec<PreparedEdit> = Vec::new();
    for spec in specs {
        let real = real(spec)?;
        let bytes = std::fs::read(&real).map_err(|source| TargetError::Unreadable { path: spec.file.clone(), source })?;
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(expected) = spec.sha256.as_ref().filter(|expected| !found.eq_ignore_ascii_case(expected.trim())) {
            return Err(PrepareError::Changed { file: spec.file.clone(), expected: expected.clone(), found, candidates: Vec::new() });
        }
        let below = made.iter().rfind(|edit| edit.real == real);
        let before = below.map_or(bytes, |edit| edit.after.clone());
        made.push(prepare_in(spec, &real, before)?);
    }
    Ok(made)
}

fn real(spec: &EditSpec) -> Result<PathBuf, TargetError> {
    std::fs::canonicalize(&spec.file).map_err(|source| TargetError::Unreadable { path: spec.file.clone(), source })
}

/// Whether a file is refused only because it could not be written.
fn is_about_writing(error: &TargetError) -> bool {
    matches!(
        error,
        TargetError::NotWritable { .. }
            | TargetError::DirectoryNotWritable { .. }
            | TargetError::Immutable { .. }
            | TargetError::NotOwned { .. }
    )
}
