//! Users by their names, in what is printed for people; edits in JSON keep their numbers.

use std::collections::BTreeMap;
use std::path::Path;

use bystander_edit::user_name;
use bystander_model::patch::{EditStatus, PatchReport};

/// Where the users of this machine are listed.
const PASSWD: &str = "/etc/passwd";

/// The names of those who made some edits on this machine, by their numbers; one that has none is left out.
pub(crate) fn users(edits: &[EditStatus]) -> BTreeMap<String, String> {
    edits.iter().filter_map(|edit| Some((edit.by.clone(), user_name(Path::new(PASSWD), &edit.by)?))).collect()
}

/// The same report with the names of users that are known where it was made; others keep their numbers.
pub(super) fn named(report: &PatchReport) -> PatchReport {
    let mut report = report.clone();
    for edit in &mut report.edits {
        if let Some(name) = report.users.get(&edit.by) {
            edit.by.clone_from(name);
        }
    }
    report
}
