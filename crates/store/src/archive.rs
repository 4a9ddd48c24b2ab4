//! One run as one file: a tar of plain members, compressed with zstd, that another machine reads without a state directory.
//!
//! The first member is `manifest.json`; it names every other one with its length and hash. Reading is streaming: nothing is unpacked, a member is
//! accepted only where the manifest names it, as long as it says, and as it was hashed. The same run gives the same bytes.

mod error;
mod pack;
mod unpack;

pub use error::ArchiveError;
pub use pack::{Packer, Source};
pub use unpack::Opened;

/// The first member.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The member that holds every event of the run, one JSON object a line, in the order of their recording.
pub(crate) const EVENTS: &str = "events.jsonl";
/// The member that says on which machine a run ran, where that is another one than made the archive.
pub const FAR: &str = "far.json";

/// What an archive may hold at most: enough for any run, and an end to what a hostile one can ask for.
mod limits {
    /// Bytes of the manifest.
    pub(super) const MANIFEST: u64 = 64 << 20;
    /// Members.
    pub(super) const MEMBERS: usize = 500_000;
    /// Bytes of what says where a run ran.
    pub(super) const FAR: u64 = 64 << 10;
    /// Bytes of all members together.
    pub(super) const ALL: u64 = 256 << 30;
    /// Bytes of all events together.
    pub(super) const EVENTS: u64 = 16 << 30;
    /// Bytes of one event.
    pub(super) const EVENT: u64 = 64 << 20;
    /// The logarithm of the compressor's window, in bytes: the memory that reading takes.
    pub(super) const WINDOW_LOG: u32 = 27;
}

/// Whether a name is that of a member: relative, plain, and short enough for the oldest form of tar.
fn is_plain(name: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.chars().any(|c| c.is_control() || c == '\\');
    name.len() <= 200 && name.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn names_that_lead_elsewhere_are_no_names_of_members() {
        for name in ["report.json", "logs/trial-1/stdout", "a b/ü"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/", "a\nb", "a\\b", &"x".repeat(201)] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
