//! The GPU memory of engines as text: the answer first, then why, then how to know more.

mod chart;
mod explain;
mod plan;
mod watch;

pub use explain::memory_explain_text;
pub use plan::memory_plan_text;
pub(crate) use watch::words;
pub use watch::{memory_live, memory_pulse, memory_watch_text};
