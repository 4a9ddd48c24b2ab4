//! Files that are written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Where a file lies until it is whole.
pub(super) fn unfinished(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    to.with_file_name(name)
}

/// Writes a file, whole or not at all.
pub(super) fn replace(to: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = unfinished(to);
    let mut file = File::create(&part)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    fs::rename(part, to)
}
