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
mod left;
mod list;
mod marshal;
mod orphan;
mod overlay;
pub mod pack;
mod problem;
mod process;
mod pth;
mod rank;
mod ring;
mod text;
mod value;

pub use bystander_model::probe::{DEFAULT_LIMIT, Moment, Place, PlaceError, ProbeSpec};
pub use check::{Checked, CheckedProbe, Side, check};
pub use drain::{Drain, DrainError};
pub use inserted::{InsertedProblem, UnboundName, check_inserted};
pub use interpreter::{Interpreter, InterpreterError};
pub use list::{Choice, FilePlaces, FunctionPlaces, LinePlace, ListError, Takeover, list_places};
pub use overlay::{OVERLAY_VARIABLE, Overlay, OverlayError};
pub use problem::{Field, NearStatement, ProbeProblem, ProblemKind};
pub use pth::PTH_NAME;
pub use text::{TEXT_LIMIT, TextError, insertion, insertions};
