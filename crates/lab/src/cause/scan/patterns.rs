//! The words by which a line of a log matters to the cause of an end.

use std::sync::LazyLock;

use regex::Regex;

use crate::cause::{ended, scheduler};

/// What starts or announces a traceback.
pub(super) static OPENS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"Traceback \(most recent call last\):|File "|Process .+:\s*$|Exception in thread |Exception ignored in|--- Logging error ---"#,
    )
});
/// What programs of any language print when they give up. Found in healthy logs too, so it never decides that something failed.
pub(super) static ERRS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"[a-z](?:Error|Exception)(?:: |$)|(?i-u:\berror\b|\bcritical:|\bfatal\b|\bpanicked at\b|^panic:|\bsegmentation fault\b|terminate called|\bwhat\(\): |\bassertion [ -~]*failed\b|",
        r"command not found|no such file or directory|permission denied|cannot open shared object|out of memory|core dumped)"
    ))
});
/// What says that a port was taken.
pub(super) static PORT: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("(?i-u:{})", ended::PORT_WORDS)));
/// What a scheduler writes about the end of a program.
pub(super) static SCHEDULER: LazyLock<Regex> = LazyLock::new(|| pattern(scheduler::WORDS));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern")
}
