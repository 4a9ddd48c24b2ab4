//! The GPU memory of engines as text: the answer first, then why, then how to know more.

mod explain;
mod plan;

pub use explain::memory_explain_text;
pub use plan::memory_plan_text;
