//! The report as JSON: one object, every number as it is, what is unknown `null`.

use std::path::{Path, PathBuf};

use bystander_model::report::Report;
use serde_json::json;

/// Writes a report as one JSON object, pretty-printed, without a final line end.
///
/// A path that is not UTF-8 is written with replacement characters, since JSON has no bytes.
#[must_use]
pub fn json(report: &Report) -> Vec<u8> {
    serde_json::to_vec_pretty(report)
        .or_else(|_path_without_utf8| serde_json::to_vec_pretty(&with_text_paths(report)))
        .unwrap_or_else(|error| json!({ "format": report.format, "run": report.run, "error": error.to_string() }).to_string().into_bytes())
}

fn with_text_paths(report: &Report) -> Report {
    let text = |path: &Path| PathBuf::from(path.to_string_lossy().into_owned());
    let mut report = report.clone();
    report.file = text(&report.file);
    for proof in &mut report.restored.proofs {
        proof.file = text(&proof.file);
    }
    for path in report.trials.iter_mut().flat_map(|trial| trial.output.values_mut()) {
        *path = text(path);
    }
    report
}
