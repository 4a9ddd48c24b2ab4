//! Probes: from what the user typed, over a checked place, to hits and receipts.
//!
//! [`ProbeSpec`] is as typed; [`check`] asks the program's own interpreter where it goes; [`Overlay`] writes the private folder
//! that delivers it; [`Drain`] reads what the program's processes left in their rings. The in-process part is plain Python in
//! `python/`, carried inside this crate. What does not belong here: starting programs, edits on disk, judgement.
#![forbid(unsafe_code)]

mod check;
mod drain;
mod embed;
mod inserted;
mod interpreter;
mod marshal;
mod overlay;
mod problem;
mod process;
mod rank;
mod ring;
mod value;

pub use bystander_model::probe::{DEFAULT_LIMIT, Moment, Place, PlaceError, ProbeSpec};
pub use check::{Checked, CheckedProbe, Side, check};
pub use drain::{Drain, DrainError};
pub use inserted::{InsertedProblem, UnboundName, check_inserted};
pub use interpreter::{Interpreter, InterpreterError};
pub use overlay::{OVERLAY_VARIABLE, Overlay, OverlayError};
pub use problem::{Field, NearStatement, ProbeProblem, ProblemKind};
