//! Where things lie at the far end.

use std::env;
use std::io;
use std::path::PathBuf;

/// Below the user's state directory: what belongs to near ends, a folder each.
const FAR: &str = "bystander/far";
/// Below the user's state directory: executables that were brought there, a folder each by their hash.
pub(super) const BINARIES: &str = "bystander/bin";

/// How the name of a copy begins that has not arrived as a whole; the pid of the shell that writes it follows.
pub(super) const UNFINISHED: &str = ".new.";

/// The home directory.
///
/// # Errors
/// The environment names none.
pub(super) fn home() -> io::Result<PathBuf> {
    absolute("HOME").ok_or_else(|| io::Error::other("HOME is not set there"))
}

/// The state directory of a near end.
///
/// # Errors
/// The environment names no home, or the name is none.
pub(super) fn state(near: &str) -> io::Result<PathBuf> {
    if near.is_empty() || near.len() > 64 || !near.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(io::Error::other("a near end has no such name"));
    }
    Ok(user()?.join(FAR).join(near))
}

/// Where executables lie that were brought there.
///
/// # Errors
/// The environment names no home.
pub(super) fn binaries() -> io::Result<PathBuf> {
    Ok(user()?.join(BINARIES))
}

/// The file whose text is this user's state's own: of all its edits, whichever near end made them.
///
/// # Errors
/// The environment names no home.
pub(super) fn id() -> io::Result<PathBuf> {
    Ok(user()?.join("bystander/id"))
}

/// The user's state directory.
fn user() -> io::Result<PathBuf> {
    absolute("XDG_STATE_HOME").map_or_else(|| home().map(|home| home.join(".local/state")), Ok)
}

fn absolute(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
