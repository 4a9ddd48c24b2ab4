//! How an instrument gets into a program: the choice, what it cannot do, and the private mounts of a trial.
//!
//! The least disturbing way that reaches the program is taken, and said. What a probe captures, and edits on disk, are not known here.

mod bytecode;
mod cast;
mod choose;
mod flags;
mod limits;
mod prepare;
mod private;
mod uncovered;

pub(crate) use cast::Cast;
pub use choose::{Choice, Unreachable, Way, choose};
pub use flags::{Hidden, hidden_from};
pub use limits::limits_of;
pub use prepare::prepare;
pub use private::{Private, PrivateError};
pub use uncovered::{Reason, reason_of};

/// The class of a trial whose private mounts were taken away by a change from outside.
pub const DETACHED: &str = "instrument.detached";
