//! Renders what is known as bytes: a report as JSON, as one screen of text or in full, problems with their source lines, events as lines.
//!
//! No I/O, no clock, no state: the same input gives the same bytes. What an answer is belongs to the lab; here is only how it is said.
//! JSON and the rows of hits hold every number as it is; other text rounds to six digits, groups thousands and writes a true minus sign.
#![forbid(unsafe_code)]

mod diagnostic;
mod event;
mod json;
mod memory;
mod number;
mod page;
mod patch;
mod place;
mod prose;
pub mod schema;
mod screen;
mod style;
mod watch;
mod why;

pub use diagnostic::diagnostics;
pub use event::{Names, event_line};
pub use json::json;
pub use memory::{memory_explain_text, memory_live, memory_plan_text, memory_pulse, memory_watch_text};
pub use patch::{apply_text, diff_text, host_text, live_elsewhere, patch_text, revert_text, second, staged_text};
pub use prose::count;
pub use screen::{Again, text, text_again, text_with};
pub use style::Style;
pub use watch::{HitRows, Watched, hit_json, summary_json, watch_places, watch_text};
pub use why::{only, why, why_again, why_of};
