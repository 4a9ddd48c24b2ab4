//! What `doctor` found, one line a thing.

use bystander_model::printed::Finding;

/// The line, and the way to mend it below.
pub(super) fn line(finding: &Finding) -> String {
    let mark = match (finding.works, finding.optional) {
        (true, _) => "ok     ",
        (false, true) => "without",
        (false, false) => "MISSING",
    };
    let mend = finding.mend.as_ref().map_or_else(String::new, |mend| format!("\n        {mend}"));
    format!("{mark} {}: {}{mend}\n", finding.name, finding.found)
}
