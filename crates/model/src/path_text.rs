//! Paths as JSON has them. A path is bytes and JSON is text: where a path is no text, what is not is shown as U+FFFD, so that an answer never fails for it.

use std::path::{Path, PathBuf};

use serde::Serializer;

/// Writes a path as text.
///
/// # Errors
/// Those of the serializer.
pub fn one<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// Writes a path as text, where there is one.
///
/// # Errors
/// Those of the serializer.
pub fn some<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => to.serialize_some(&path.to_string_lossy()),
        None => to.serialize_none(),
    }
}
