//! Whether what was mounted is still what processes see.
//!
//! A rename over a bound file from outside, as git and editors do it, takes the mount away inside without a word. It shows
//! outside: the path then names another file than the one that was bound over. That file is held open meanwhile, so that its
//! number cannot be given to a new one.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use super::Namespace;

/// The files and folders that a namespace covers, as they were before the program was started.
#[derive(Debug)]
pub struct MountWatch {
    covered: Vec<Covered>,
}

#[derive(Debug)]
struct Covered {
    target: PathBuf,
    /// What is to be seen inside; a layered folder has no such file.
    source: Option<PathBuf>,
    /// Holds the covered file.
    held: File,
}

/// A mount that its processes do not have any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detached {
    /// The file or folder whose place was taken.
    pub target: PathBuf,
    /// What was seen.
    pub text: String,
}

impl MountWatch {
    /// Takes hold of everything that a namespace covers; to be made before the program is started.
    ///
    /// # Errors
    /// Where a covered file is not there.
    pub fn new(namespace: &Namespace) -> io::Result<Self> {
        let binds = namespace.binds.iter().map(|bind| (&bind.target, Some(bind.source.clone())));
        let layers = namespace.layers.iter().map(|layer| (&layer.target, None));
        let covered = binds.chain(layers).map(|(target, source)| {
            let held = File::options().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(target)?;
            Ok(Covered { target: target.clone(), source, held })
        });
        Ok(Self { covered: covered.collect::<io::Result<_>>()? })
    }

    /// Finds the mounts that are gone: by what the paths name outside, and, while `pid` lives, by what it sees inside.
    #[must_use]
    pub fn detached(&self, pid: Option<u32>) -> Vec<Detached> {
        self.covered.iter().filter_map(|covered| covered.outside().or_else(|| covered.inside(pid?))).collect()
    }
}

impl Covered {
    fn outside(&self) -> Option<Detached> {
        let held = self.held.metadata().ok()?;
        let text = match fs::symlink_metadata(&self.target) {
            Ok(now) if identity(&now) == identity(&held) => return None,
            Ok(_) => "another file took its place, which takes the private mount away",
            Err(_) => "it was removed or renamed, which takes the private mount away",
        };
        Some(self.lost(text))
    }

    fn inside(&self, pid: u32) -> Option<Detached> {
        let source = fs::symlink_metadata(self.source.as_ref()?).ok()?;
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        // A process that is gone, or that may not be looked at, says nothing.
        let seen = fs::metadata(root.join(self.target.strip_prefix("/").ok()?)).ok()?;
        (identity(&seen) != identity(&source)).then(|| self.lost("a process of the trial sees another file there than the mounted one"))
    }

    fn lost(&self, text: &str) -> Detached {
        Detached { target: self.target.clone(), text: format!("{}: {text}", self.target.display()) }
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
