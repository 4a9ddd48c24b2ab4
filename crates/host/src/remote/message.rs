//! What the two ends say to each other. Both are of the same version, or do not talk ([`greeting`]).

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::clock::Offset;

/// The version of the messages: it changes with any of them, and with what jobs keep on the far disk.
pub const PROTOCOL: u32 = 5;
/// The version of the executable.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How the line begins with which an agent says that it is there.
pub const GREETING: &str = "bystander-agent ";

/// What follows it where our own line finds no executable to start.
pub const NOBODY: &str = "nobody";

/// The first line of an agent: what comes before it is what a shell of the far end prints at its start.
#[must_use]
pub fn greeting() -> String {
    format!("{GREETING}{PROTOCOL} {VERSION}\n")
}

/// One word of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// As it is, in bytes.
    Bytes(Vec<u8>),
    /// The path of a file that is written there first: the next so many bytes of the message's body.
    File {
        /// Its length in bytes.
        length: usize,
        /// Its name, which messages show.
        name: Vec<u8>,
    },
}

impl Word {
    /// A word as it is.
    #[must_use]
    pub fn of(word: impl Into<OsString>) -> Self {
        Self::Bytes(word.into().into_vec())
    }
}

/// What the near end prints on: no variable tells it, since the program would see that.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Screen {
    /// Columns, where they are known.
    pub columns: Option<usize>,
    /// Whether it shows colours.
    pub colour: bool,
    /// What follows `bystander show RUN` so that it finds a run here.
    pub again: String,
    /// The options with which a verb that is typed here works there.
    pub way: String,
    /// The address of the machine there, as it is typed here.
    pub address: String,
    /// How far the clock there is from the one here: what is printed has the times of the one here.
    pub clock: Offset,
}

/// A command of this executable that is to be carried out at the far end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Its name, which the near end has chosen: the same name is never started twice.
    pub job: String,
    /// The words after the executable's name.
    pub words: Vec<Word>,
    /// How it prints.
    pub screen: Screen,
    /// The folder that it runs in, as bytes; `None` is the home directory, a relative one begins there.
    pub folder: Option<Vec<u8>>,
    /// Seconds that it goes on without a near end.
    pub lease_s: u64,
    /// Whether a near end that was killed comes back for it; what has ended and is not taken up goes some time after its lease.
    pub taken_up: bool,
}

/// What the near end says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Names the near state directory, whose jobs and records the agent keeps apart from others'. Comes first.
    Open {
        /// Its name, of letters and digits.
        near: String,
    },
    /// Comes first instead, for what leaves nothing: no state directory is made, so that an answer comes whatever is broken there.
    Visit {
        /// The name of the near state directory.
        near: String,
    },
    /// Carries out a command that leaves nothing, while the near end waits for it: nothing is written down, and it ends with the connection.
    Try {
        /// The words after the executable's name.
        words: Vec<Word>,
        /// How it prints.
        screen: Screen,
        /// The folder that it runs in, as that of [`Start`].
        folder: Option<Vec<u8>>,
    },
    /// Asks for the time and renews the lease of what is followed.
    Ping {
        /// Comes back in the answer.
        token: u64,
    },
    /// Starts a command; where one of that name was started, nothing is done.
    Start(Start),
    /// Sends what a command has printed, from a place in it on, and goes on doing so until it ends.
    Follow {
        /// The command.
        job: String,
        /// Bytes of its output that have arrived.
        from: u64,
    },
    /// Sends a signal to a command.
    Signal {
        /// The command.
        job: String,
        /// The signal's number.
        signal: i32,
    },
    /// Removes everything of a command that has ended.
    Forget {
        /// The command.
        job: String,
    },
    /// Lists the runs that are recorded there.
    Runs,
    /// Sends events of a run.
    Events {
        /// The run.
        run: String,
        /// Events that have arrived.
        after: u64,
    },
    /// Lists the files that a run keeps.
    Kept {
        /// The run.
        run: String,
    },
    /// Sends a part of a file that a run keeps.
    Part {
        /// Its path in the state directory.
        path: PathBuf,
        /// Bytes that have arrived.
        from: u64,
    },
}

/// A file that a run keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Its path in the state directory.
    pub path: PathBuf,
    /// Bytes.
    pub length: u64,
    /// SHA-256 in hex.
    pub sha256: String,
}

/// A run that is recorded at the far end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarRun {
    /// Its id.
    pub id: String,
    /// Its experiment file, as bytes.
    pub file: Vec<u8>,
    /// The hash of that file.
    pub spec_sha256: String,
    /// When it began: nanoseconds since 1970, by the far clock.
    pub created_ns: u64,
    /// How far the clock there was from the reader's, as the run knew it when it began.
    pub clock: Option<Offset>,
    /// Events that it has.
    pub events: u64,
}

/// How a command stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It runs.
    Running,
    /// It ended.
    Ended(JobEnd),
    /// Its warden is gone without a word: killed, or the machine was started anew.
    Lost,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnd {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Seconds of its lease, where it was ended since nobody had asked for it for so long.
    pub lease_over_s: Option<u64>,
    /// Why it could not be started, if it could not.
    pub unstarted: Option<String>,
    /// Bytes that it printed and that could not be kept.
    pub lost_bytes: u64,
    /// Why they could not.
    pub lost_why: Option<String>,
    /// What it had left and what became of that, where it was killed and could not take it back itself.
    pub cleared: Option<Box<Cleared>>,
}

/// What a command that was killed had left, each in words for whoever asked for it; of many, the first few.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleared {
    /// Edits that were taken back: the file, and how.
    pub undone: Vec<String>,
    /// Edits that could not be taken back: the id, and why.
    pub stuck: Vec<Stuck>,
    /// Edits that it was asked to leave, and that are live.
    pub kept: Vec<String>,
    /// How many of its processes were ended.
    pub ended: usize,
    /// What else could not be done, and why.
    pub trouble: Vec<String>,
}

/// An edit that could not be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// Its id.
    pub id: String,
    /// Its file.
    pub file: String,
}

/// What the agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The answer to [`Ask::Open`] and to [`Ask::Visit`].
    Opened {
        /// The name of the machine.
        machine: String,
        /// The state directory of these jobs and records.
        state: PathBuf,
        /// The home directory.
        home: PathBuf,
        /// Bytes that are free where the state directory is.
        free_bytes: Option<u64>,
        /// What tells this machine and this state directory from all others, whatever the address; `None` where the system does not say.
        identity: Option<String>,
        /// What tells this machine and its user's state from all others, also after it was started anew; `None` where nothing may be kept there.
        state_id: Option<String>,
    },
    /// The answer to [`Ask::Try`]: what it printed as the body, in records of [`super::job`].
    Tried {
        /// Its exit code; `None` where a signal ended it.
        code: Option<i32>,
    },
    /// The answer to [`Ask::Ping`].
    Pong {
        /// The token of the question.
        token: u64,
        /// Nanoseconds since 1970 by the far clock.
        now_ns: u64,
    },
    /// The command was started, now or before.
    Started {
        /// The command.
        job: String,
    },
    /// How a command stands that is followed from now on, before anything that it printed is sent; `None` where there is none of this name.
    Found {
        /// The command.
        job: String,
        /// How.
        standing: Option<Standing>,
    },
    /// What a command has printed: records of [`super::job`] as the body.
    Output {
        /// The command.
        job: String,
        /// Where the body begins in all that it printed.
        from: u64,
    },
    /// A command ended, and all that it printed was sent.
    Ended {
        /// The command.
        job: String,
        /// How.
        standing: Standing,
    },
    /// The answer to [`Ask::Signal`].
    Signalled {
        /// Whether the command was still there to get it.
        reached: bool,
    },
    /// Nothing of the command is there any more.
    Forgotten,
    /// The answer to [`Ask::Runs`].
    Runs(Vec<FarRun>),
    /// The answer to [`Ask::Events`]: one event a line in the body.
    Events {
        /// How many.
        count: u64,
    },
    /// The answer to [`Ask::Kept`].
    Kept(Vec<KeptFile>),
    /// The answer to [`Ask::Part`]: bytes as the body; none at the end of the file.
    Part,
    /// What was asked could not be done.
    Failed {
        /// What, as the end of "failed to".
        what: String,
        /// Why.
        why: String,
    },
}

/// The path that bytes are.
#[must_use]
pub fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// The bytes that a path is.
#[must_use]
pub fn bytes(path: &std::path::Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}
