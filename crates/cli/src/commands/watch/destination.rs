//! The file for hits of `--output`, made before anything runs. What is there already is somebody's, such as the program itself, and is kept.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output::HitsTo;

/// Takes a new file away again where nothing was launched, so that the same command can be given again.
pub(super) struct Unused(Option<PathBuf>);

impl Unused {
    /// Leaves the file: it has what it was made for.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Unused {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What cannot be removed is an empty file; the command has failed anyway, and says why.
            let _ = fs::remove_file(path);
        }
    }
}

/// Makes the file for hits; a pipe, a socket or a device that is there is written to as it is.
pub(super) fn make(path: Option<&Path>) -> Result<Option<(HitsTo, Unused)>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let existing = fs::metadata(path).ok().map(|metadata| metadata.file_type());
    let stream = existing.is_some_and(|kind| kind.is_fifo() || kind.is_char_device());
    let opened = if stream { OpenOptions::new().write(true).open(path) } else { File::create_new(path) };
    let file = opened.map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            let what = if existing.is_some_and(|kind| kind.is_dir()) { "a folder" } else { "a file" };
            return Failure::user(format!(
                "failed to make the file for hits {}: {what} of this name is there; nothing was launched",
                path.display()
            ))
            .hint("name another with --output FILE, or remove it: `watch` writes over nothing");
        }
        Failure::environment(format!("failed to make the file for hits {}", path.display()))
            .because(&error)
            .hint("name another with --output FILE")
    })?;
    let unused = Unused((!stream).then(|| path.to_owned()));
    Ok(Some((HitsTo { file, path: path.to_owned() }, unused)))
}
