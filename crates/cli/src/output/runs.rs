//! Lists of runs, and what an export holds, as text.

use std::path::Path;

use bystander_model::archive::Manifest;
use bystander_model::printed::ListedRun;
use bystander_model::typed::quoted;
use bystander_report::count;

use super::text::{bytes, clean, clipped};

/// One line a run: id, when, how it stands, its answer, its file.
pub(super) fn list(runs: &[ListedRun], width: usize) -> String {
    if runs.is_empty() {
        return "no run is recorded here: `bystander run FILE` and `bystander watch` make one\n".to_owned();
    }
    let id = runs.iter().map(|run| run.run.chars().count()).max().unwrap_or(0);
    runs.iter()
        .map(|run| {
            let answer = run.answer.as_ref().map_or_else(|| "no answer yet".to_owned(), |answer| clean(answer));
            let line = format!("{:id$}  {}  {:11}  {answer}  ({})", run.run, when(run.created_ns), run.status, clean(&run.file));
            clipped(&line, width) + "\n"
        })
        .collect()
}

/// A wall-clock instant in the local time zone, to the minute.
fn when(ns: u64) -> String {
    let stamp = jiff::Timestamp::from_nanosecond(i128::from(ns));
    let here = |at: jiff::Timestamp| at.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string();
    stamp.map_or_else(|_out_of_range| "????-??-?? ??:??".to_owned(), here)
}

/// What was exported, and how it is opened.
pub(super) fn exported(manifest: &Manifest, to: &Path, size: u64) -> String {
    let whole: u64 = manifest.members.iter().map(|member| member.bytes).sum();
    let mut text =
        format!("{}: {}, {} in {}\n", to.display(), count(manifest.members.len() + 1, "file", "files"), bytes(whole), bytes(size));
    for left in &manifest.left_out {
        text.push_str(&format!("left out: {}\n", clean(left)));
    }
    text.push_str(&format!("open it with: bystander show {}\n", quoted(to)));
    text
}
