//! The GPU memory of engines as text: the answer first, then why, then how to know more.

mod plan;

pub use plan::memory_plan_text;
