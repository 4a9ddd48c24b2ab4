//! Names of factors, levels, instruments and metrics.
//!
//! Cells are written `level/level/instrument` and filtered by `factor=level`; instruments that go in together are joined by `+`. So names hold
//! none of these signs, and no white space.

use std::ops::Range;

use bystander_model::diagnostic::Diagnostic;

use super::problems::Problems;

/// Refuses a name that could not be told from its surroundings; says whether it is valid.
pub(super) fn check(name: &str, what: &str, span: &Range<usize>, problems: &mut Problems<'_>) -> bool {
    let Some(why) = fault(name) else { return true };
    let problem = Diagnostic::error("spec.invalid_name", format!("the name of a {what} {why}"));
    problems.push(span, problem.help("names hold letters, digits, `-`, `_` and `.`"));
    false
}

fn fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some(String::from("is empty"));
    }
    let sign = name.chars().find(|c| matches!(c, '/' | '+' | '=') || c.is_whitespace() || c.is_control())?;
    Some(if sign.is_whitespace() { String::from("holds white space") } else { format!("holds `{}`", sign.escape_debug()) })
}

/// A name as a TOML key: bare where it can be.
pub(super) fn as_key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { name.to_owned() } else { format!("{name:?}") }
}
