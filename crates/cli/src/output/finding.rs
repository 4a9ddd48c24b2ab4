//! What `doctor` found, one line a thing.

use serde::Serialize;

/// One thing that was tried.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    /// What was tried.
    pub(crate) name: &'static str,
    /// Whether it works.
    pub(crate) works: bool,
    /// Whether experiments can be run without it.
    pub(crate) optional: bool,
    /// What was found.
    pub(crate) found: String,
    /// How to mend it.
    pub(crate) mend: Option<&'static str>,
}

impl Finding {
    /// The line, and the way to mend it below.
    pub(super) fn line(&self) -> String {
        let mark = match (self.works, self.optional) {
            (true, _) => "ok     ",
            (false, true) => "without",
            (false, false) => "MISSING",
        };
        let mend = self.mend.map_or_else(String::new, |mend| format!("\n        {mend}"));
        format!("{mark} {}: {}{mend}\n", self.name, self.found)
    }
}
