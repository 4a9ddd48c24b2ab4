//! A test that cannot run on this machine says so, and fails where skips are not allowed.

use std::io::Write as _;

/// What a test would need that this machine may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A program or a permission that can be installed or given.
    Machine,
    /// The superuser, where the tests are somebody else's.
    Superuser,
    /// A GPU.
    Gpu,
    /// A large download.
    Download,
}

/// Tells that the calling test was skipped.
///
/// # Panics
/// Where `BYSTANDER_NO_SKIP=1` forbids skips and what is lacking is of this machine.
pub fn skip(reason: &str, mark: Mark) {
    let forbidden = std::env::var_os("BYSTANDER_NO_SKIP").is_some_and(|value| value == "1");
    assert!(!(forbidden && mark == Mark::Machine), "a test that may not be skipped cannot run: {reason}");
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    // Past the harness, which keeps what passing tests print.
    let _ = writeln!(std::io::stderr(), "{name}: skipped: {reason}");
}
