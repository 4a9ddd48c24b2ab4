//! What `memory explain` and `memory plan` say, as data. Amounts in GiB = 2^30 bytes, which the engines print as "GB".

mod explain;
mod plan;

pub use explain::{
    Advice, Cause, CauseClass, Certainty, Compared, Direction, Explained, Formula, Gives, MixedIn, Phase, Rank, Server, State, Term,
    TermName,
};
pub use plan::{Column, FractionRange, Planned, Row};

/// The version of both documents' form.
pub const FORMAT: u32 = 1;
