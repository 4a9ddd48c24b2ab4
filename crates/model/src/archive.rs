//! The manifest of an exported run: its first member, which names every other one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the form of an archive that this build writes, and the newest that it reads.
pub const ARCHIVE_FORMAT: u32 = 1;

/// What is in an archive, and what was left out of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// The version of the form of the archive.
    pub format: u32,
    /// The version of Bystander that wrote it.
    pub version: String,
    /// The run's id.
    pub run: String,
    /// The experiment file, or the working directory of a watched command, as text.
    pub file: String,
    /// SHA-256 of the specification, in hex; empty for a watched command.
    pub spec_sha256: String,
    /// When the run was created, in nanoseconds since the Unix epoch.
    pub created_ns: u64,
    /// How the run stood, by its last event: `running` where it was killed.
    pub status: String,
    /// Every other member, in the order of the archive.
    pub members: Vec<Member>,
    /// What belongs to the run and is not in the archive, in sentences.
    pub left_out: Vec<String>,
}

/// One member of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Its name below the folder of the run.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 in hex.
    pub sha256: String,
}
