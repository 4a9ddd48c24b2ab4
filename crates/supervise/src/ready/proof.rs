//! What was found when a program was ready: the proof of each condition, and how far it came when.

use std::path::PathBuf;

use bystander_model::ids::TimeNs;

use crate::listener::Holder;
use crate::output::Line;

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The address that was asked.
    pub url: String,
    /// The status of the answer.
    pub status: u16,
    /// The part of the body that matched, where a pattern was named.
    pub matched: Option<String>,
    /// The process of the tree that listens there.
    pub listener: Holder,
}

/// A file that this trial has made or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSeen {
    /// The file, absolute.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether it was there before the launch, and was another.
    pub changed: bool,
}

/// The program's own word, by the protocol of `sd_notify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notified {
    /// When it came.
    pub time_ns: TimeNs,
    /// The process of the tree that sent it.
    pub pid: u32,
    /// The last `STATUS=`, where one came.
    pub status: Option<String>,
}

/// A command that ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSeen {
    /// Its words.
    pub argv: Vec<String>,
    /// How many times it was run until then.
    pub runs: u32,
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// The address that was asked.
    pub url: String,
    /// The name that `/v1/models` shows.
    pub model: String,
    /// The first of its text.
    pub text: String,
    /// The tokens that it counts, where it does.
    pub tokens: Option<u64>,
    /// The process of the tree that listens there.
    pub listener: Holder,
}

/// How far a program came, and when first; those that were not looked for are not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Levels {
    /// A process of the tree listened.
    pub port: Option<TimeNs>,
    /// Every HTTP address answered as it should.
    pub health: Option<TimeNs>,
    /// The expected model was served.
    pub models: Option<TimeNs>,
    /// The first completion came.
    pub generation: Option<TimeNs>,
    /// Everything had held for as long as was asked.
    pub stable: Option<TimeNs>,
}

/// The proof that a program was ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// When all conditions held first, without a lapse since.
    pub time_ns: TimeNs,
    /// The lines that matched, in the order of the patterns.
    pub logs: Vec<Line>,
    /// The process of the tree that listens.
    pub listener: Option<Holder>,
    /// The answers, in the order of the addresses.
    pub http: Vec<HttpAnswer>,
    /// The file.
    pub file: Option<FileSeen>,
    /// The program's own word.
    pub notified: Option<Notified>,
    /// The command.
    pub command: Option<CommandSeen>,
    /// The completion.
    pub generation: Option<Generation>,
    /// How far it came, and when first.
    pub levels: Levels,
}
