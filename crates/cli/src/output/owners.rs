//! Users by their names, in what is printed for people; JSON keeps their numbers.

use std::path::Path;

use bystander_edit::user_name;
use bystander_model::patch::PatchReport;

/// Where the users of this machine are listed.
const PASSWD: &str = "/etc/passwd";

/// The same report with the names of users; one that has none keeps the number.
pub(super) fn named(report: &PatchReport) -> PatchReport {
    let mut report = report.clone();
    for edit in &mut report.edits {
        if let Some(name) = user_name(Path::new(PASSWD), &edit.by) {
            edit.by = name;
        }
    }
    report
}
