//! A folder for the socket of SSH's own connection: short, since a socket's path may have 108 bytes, private, and gone with this process.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// How the name of such a folder begins; the pid of its process follows.
const PREFIX: &str = "bystander-ssh-";

/// The folder, removed with this value.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes it, and removes those of processes that were killed.
    pub(super) fn new() -> io::Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir());
        let parent = runtime.unwrap_or_else(std::env::temp_dir);
        sweep(&parent);
        let pid = std::process::id();
        for number in 0.. {
            let path = parent.join(format!("{PREFIX}{pid}-{number}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("make the folder {}: {error}", path.display()))),
            }
        }
        Err(io::Error::other("there is no name left"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next one that is made takes away what stays.
        let _removed = fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders of this user whose processes are gone.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        let own = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw());
        if own && pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _removed = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;

    #[test]
    fn a_folder_is_made_for_each_and_goes_with_it() {
        let (one, other) = (Scratch::new().expect("made"), Scratch::new().expect("made"));
        assert!(one.path() != other.path() && one.path().is_dir());
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().is_dir());
    }
}
