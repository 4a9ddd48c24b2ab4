//! Why a probe cannot be put into the text of its file.

use std::path::PathBuf;

use super::TEXT_LIMIT;

/// Why a probe cannot be put into the text of its file.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// No statement can stand at the place without moving a line.
    #[error("put the probe `{probe}` into the text of its file: {reason}")]
    NoPlace {
        /// The probe.
        probe: String,
        /// Why not.
        reason: String,
    },
    /// Its captures run code of the program, which a statement reads values without.
    #[error("put the probe `{probe}` into the text of its file: `unsafe` expressions are evaluated by the overlay only")]
    Unsafe {
        /// The probe.
        probe: String,
    },
    /// Its limit is larger than a ring that nobody reads.
    #[error(
        "put the probe `{probe}` into the text of its file: its limit of {limit} hits is more than the {TEXT_LIMIT} that can be kept while nobody reads"
    )]
    Limit {
        /// The probe.
        probe: String,
        /// Its limit.
        limit: u64,
    },
    /// The text around the place cannot be spelled.
    #[error("put a probe into the text of {}: it changed since the check, or is not UTF-8 around the place", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}
