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
//! ```
//! use bystander_edit::{Action, EditSpec, Journal, prepare};
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("app.py");
//! std::fs::write(&file, "x = 1\n")?;
//! let action = Action::InsertAfter("print(x)\n".into());
//! let spec = EditSpec { name: "print".to_owned(), file: file.clone(), find: "x = 1\n".to_owned(), action, sha256: None };
//!
//! let journal = Journal::open(&folder.path().join("state"), &folder.path().join("registry"))?;
//! let applied = journal.apply(&prepare(&spec)?, "trial 1")?;
//! assert_eq!(std::fs::read_to_string(&file)?, "x = 1\nprint(x)\n");
//! assert_eq!(applied.added_lines, 2..3);
//! assert!(journal.revert(&applied.id)?.exact);
//! assert_eq!(std::fs::read_to_string(&file)?, "x = 1\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Positions are byte offsets; lines count from 1 and end at LF, CRLF or a lone CR.
#![forbid(unsafe_code)]

mod built;
mod bytecode;
mod candidate;
mod diagnose;
mod difference;
mod encode;
mod encoding;
mod error;
mod excise;
mod journal;
mod lines;
mod locate;
mod lost;
mod marker;
mod merge;
mod metadata;
mod mtime;
mod patch;
mod pattern;
mod process;
mod registry;
mod scan;
mod spec;
mod staged;
mod steps;
mod target;
mod users;
mod verify;

pub use candidate::Candidate;
pub use difference::{prepared_diff, registry_diffs};
pub use error::{Conflict, EditError, Holder};
pub use journal::{Journal, Recovery};
pub use locate::{Edited, LocateError, edit_bytes};
pub use lost::{expire_everywhere, recover_everywhere};
pub use patch::{Find, FlowError, LARGEST_READ, PatchError, PatchSpec, moved_lines, prepare_patches};
pub use pattern::{Language, PatternError};
pub use process::ProcessId;
pub use registry::{default_registry_dir, registry_holders, registry_status};
pub use scan::{Scan, scan};
pub use spec::{Action, EditSpec, PrepareError, PreparedEdit, prepare, prepare_in, prepare_stack};
pub use staged::{StagedEdit, StagedError, staged};
pub use steps::{NoSteps, Steps};
pub use target::TargetError;
pub use users::{Others, others, user_name};
pub use verify::Findings;
