//! Journaled text edits on disk and their undo, for any language. Knows nothing of probes.
//!
//! The road of an edit: an [`EditSpec`] as typed, a [`PreparedEdit`] that was found exactly once and is still only in
//! memory, and a [`Journal`] that puts it on disk and takes it out again. Before the first byte of a file changes,
//! copies of both versions and a record of the intent are durable, so that a kill at any moment can be undone by the
//! next start.
//!
//! What an undo gives back: bytes, mode, owner, extended attributes, access and modification time. What it cannot give
//! back and does not claim: change time, birth time, and the inode number of files with one link. A restored
//! modification time is older than that of the edited file: a build tool that compares times (make, cargo) does not
//! rebuild what it built from the edited text.
//!
//! Positions are byte offsets; lines count from 1 and end at LF, CRLF or a lone CR.
#![forbid(unsafe_code)]

mod bytecode;
mod candidate;
mod encode;
mod error;
mod excise;
mod journal;
mod lines;
mod locate;
mod metadata;
mod mtime;
mod process;
mod registry;
mod spec;
mod steps;
mod target;
mod verify;

pub use candidate::Candidate;
pub use error::{Conflict, EditError, Holder};
pub use journal::{Journal, Recovery};
pub use locate::{Edited, LocateError, edit_bytes};
pub use process::ProcessId;
pub use registry::{default_registry_dir, registry_status};
pub use spec::{Action, EditSpec, PrepareError, PreparedEdit, prepare, prepare_in, prepare_stack};
pub use steps::{NoSteps, Steps};
pub use target::TargetError;
