//! What is run: arguments, the complete environment, the directory.
//!
//! Nothing of the caller's own environment is added: what the program sees is what stands here, plus the trial's marker.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The variable that marks every process of a trial, so that leftovers of a dead run can be told.
pub const MARKER: &str = "BYSTANDER_TRIAL";

/// One program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program's name as typed, then its arguments; the name is looked up on the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// The complete environment.
    pub env: BTreeMap<OsString, OsString>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The value of [`MARKER`], unique on the machine; it lets [`crate::sweep()`] tell whose leftover a process is.
    pub marker: String,
    /// Files and directories, absolute, that are removed when the trial is closed and also when its caller is killed.
    pub remove_on_exit: Vec<PathBuf>,
}

/// How to start the keeper: a program that calls [`crate::keeper::main`] when it gets these arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperProgram {
    /// The executable; `/proc/self/exe` is this one, also when its file has been replaced.
    pub exe: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl KeeperProgram {
    /// The argument by which a program learns that it is to be a keeper.
    pub const ARGUMENT: &str = "__keeper";

    /// The running executable itself, with [`KeeperProgram::ARGUMENT`].
    #[must_use]
    pub fn this_executable() -> Self {
        Self { exe: PathBuf::from("/proc/self/exe"), args: vec![Self::ARGUMENT.into()] }
    }
}
