//! A private mount namespace for one trial: files and folders that its processes see otherwise than everybody else.
//!
//! It is made between the fork and the exec of the program, so neither the keeper nor its caller is ever in it, and the kernel
//! takes it down with its last process: there is nothing to undo. Mounts that others make later are seen inside, none made
//! inside is seen outside. What is mounted, and why, is for callers. Linux only.

mod availability;
mod enter;
mod layout;
mod watch;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use availability::{Availability, Refusal, namespaces_available};
pub(crate) use enter::Report as StepReport;
pub(crate) use layout::Layout;
pub use watch::{Detached, MountWatch};

/// What a trial's processes see otherwise; every path is absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    /// What stands in the place of something else; mounted last.
    pub binds: Vec<Bind>,
    /// Folders with more in them than there is; mounted before the binds.
    pub layers: Vec<OverlayDir>,
    /// An empty folder for what the program writes into the layered folders: it is kept in memory and is gone with the trial.
    /// Needed where there are layers.
    pub scratch: Option<PathBuf>,
}

/// One file or folder that stands in the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// The file or folder that is seen.
    pub source: PathBuf,
    /// The one in whose place it is seen.
    pub target: PathBuf,
    /// Whether the program may write to it.
    pub writable: bool,
}

/// One folder that is seen together with another, by overlayfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayDir {
    /// The folder that lies on top.
    pub layer: PathBuf,
    /// The folder that it lies on, and in whose place both are seen.
    pub target: PathBuf,
}

impl Namespace {
    /// Whether nothing is mounted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.binds.is_empty() && self.layers.is_empty()
    }
}

/// The system call that refused while a namespace was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// `unshare(CLONE_NEWNS)` as a superuser.
    UnshareMounts,
    /// `unshare(CLONE_NEWUSER | CLONE_NEWNS)`.
    UnshareUser,
    /// Writing `/proc/self/setgroups`, `uid_map` or `gid_map`.
    MapIds,
    /// Cutting the way of mounts from inside to outside.
    Propagation,
    /// Mounting the memory for what is written into layered folders.
    Scratch,
    /// Making the folders in it.
    ScratchFolders,
    /// Mounting an overlayfs.
    Overlay,
    /// Binding a file over another.
    Bind,
    /// Making a bound file read-only.
    ReadOnly,
    /// Entering the working directory again.
    Directory,
    /// Giving back the rights that the user namespace brought.
    Drop,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::UnshareMounts => "unshare(CLONE_NEWNS)",
            Step::UnshareUser => "unshare(CLONE_NEWUSER | CLONE_NEWNS)",
            Step::MapIds => "write the id maps of the user namespace",
            Step::Propagation => "mount(MS_REC | MS_SLAVE)",
            Step::Scratch => "mount(tmpfs)",
            Step::ScratchFolders => "mkdir in the scratch memory",
            Step::Overlay => "mount(overlay)",
            Step::Bind => "mount(MS_BIND)",
            Step::ReadOnly => "mount(MS_REMOUNT | MS_BIND | MS_RDONLY)",
            Step::Directory => "chdir",
            Step::Drop => "prctl(PR_CAPBSET_DROP)",
        })
    }
}

/// Why the namespace of a trial was not made; the program was not started.
#[derive(Debug, thiserror::Error)]
#[error("make the private mounts of the trial: {step}{}", at(path.as_deref()))]
pub struct NamespaceError {
    /// The system call that refused.
    pub step: Step,
    /// What it was about.
    pub path: Option<PathBuf>,
    /// What the system says.
    #[source]
    pub source: io::Error,
}

fn at(path: Option<&Path>) -> String {
    path.map(|path| format!(" on {}", path.display())).unwrap_or_default()
}
