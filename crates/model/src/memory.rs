//! What `memory explain`, `memory plan` and `memory watch` say, as data. Amounts in GiB = 2^30 bytes, which the engines print as "GB".

mod explain;
mod plan;
mod watch;

pub use explain::{
    Advice, Cause, CauseClass, Certainty, Compared, Direction, Explained, Formula, Gives, MixedIn, Phase, Rank, Server, State, Term,
    TermName,
};
pub use plan::{CAP, Column, FractionRange, NONE_STARTS, Planned, Row};
pub use watch::{SamplingCost, WatchEnding, WatchedMemory, WatchedSubject};

/// The version of these documents' form.
pub const FORMAT: u32 = 1;
