//! A watched command: its hits as rows of a table that can be read while it grows, or as JSON lines, and the summary at its end.

mod fold;
mod places;
mod rows;
mod summary;

use bystander_model::hit::Hit;
use bystander_model::watch::{SummaryLine, WatchSummary};
use serde_json::json;

pub use fold::Watched;
pub use places::watch_places;
pub use rows::HitRows;
pub use summary::watch_text;

/// Writes a hit as one line of JSON, with its line end.
pub fn hit_json(hit: &Hit, line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(b"{\"hit\":");
    // What came out of a ring has no number that JSON lacks; a failure leaves the line out rather than half of it.
    if serde_json::to_writer(&mut *line, hit).is_err() {
        line.truncate(start);
        return;
    }
    line.extend_from_slice(b"}\n");
}

/// Writes the summary as one line of JSON, with its line end.
#[must_use]
pub fn summary_json(summary: &WatchSummary) -> Vec<u8> {
    let line = serde_json::to_vec(&SummaryLine { summary: summary.clone() });
    let mut line =
        line.unwrap_or_else(|error| json!({ "summary": { "run": summary.run, "error": error.to_string() } }).to_string().into_bytes());
    line.push(b'\n');
    line
}
