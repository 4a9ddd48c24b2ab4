//! Why a request did not complete.

use crate::decode::clip;
use crate::http::HttpError;

/// Why a request did not complete. [`Fault::kind`] is the word under which it is counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nobody listens.
    #[error("connect: {0}")]
    Refused(rustix::io::Errno),
    /// The connection could not be set up for another reason.
    #[error("connect: {0}")]
    Connect(rustix::io::Errno),
    /// The connection was broken off.
    #[error("keep the connection: {0}")]
    Reset(rustix::io::Errno),
    /// The time limit came before the end of the answer.
    #[error("get a whole answer within the time limit; {chunks} chunks had come")]
    Timeout {
        /// Chunks with output so far.
        chunks: u64,
    },
    /// The server answered with another status than 200.
    #[error("be served: status {status}{}", told(text))]
    Status {
        /// The status.
        status: u16,
        /// The beginning of what came with it.
        text: String,
    },
    /// The server said in the stream that it failed.
    #[error("get a whole answer: the server says {text}")]
    InStream {
        /// What it said.
        text: String,
    },
    /// The server gave the answer up.
    #[error("get a whole answer: the server ended it by `{word}`; {chunks} chunks had come")]
    GivenUp {
        /// `abort` or `error`.
        word: &'static str,
        /// Chunks with output so far.
        chunks: u64,
    },
    /// The stream ended without `[DONE]`.
    #[error("find [DONE] at the end of the stream; {chunks} chunks had come")]
    NoDone {
        /// Chunks with output.
        chunks: u64,
    },
    /// The answer was whole and there was not one token in it.
    #[error("find a token in the answer")]
    Empty,
    /// More tokens came than any engine makes in that time.
    #[error("believe the answer: {tokens} tokens in {micros} \u{b5}s")]
    TooFast {
        /// Tokens.
        tokens: u64,
        /// Microseconds from the start of the request.
        micros: u64,
    },
    /// What was streamed is no piece of an answer.
    #[error("read a piece of the answer: {text}")]
    Unreadable {
        /// The beginning of it.
        text: String,
    },
    /// The answer is no stream of events.
    #[error("find a stream of events in the answer")]
    NotStreamed,
    /// An event is longer than any piece of an answer.
    #[error(transparent)]
    Oversized(#[from] crate::sse::Oversized),
    /// The answer is no HTTP.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// This machine has no socket or no port to give.
    #[error("open a connection from this machine: {0}")]
    Client(rustix::io::Errno),
}

fn told(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(", {text}") }
}

impl Fault {
    /// The word under which it is counted.
    #[must_use]
    pub fn kind(&self) -> String {
        match self {
            Self::Refused(_) => "connect_refused".into(),
            Self::Connect(_) => "connect".into(),
            Self::Reset(_) => "reset".into(),
            Self::Timeout { .. } => "timeout".into(),
            Self::Status { status, .. } => format!("status_{status}"),
            Self::InStream { .. } => "error_in_stream".into(),
            Self::GivenUp { word, .. } => format!("finished_by_{word}"),
            Self::NoDone { .. } => "no_done".into(),
            Self::Empty => "empty".into(),
            Self::TooFast { .. } => "too_fast".into(),
            Self::Unreadable { .. } => "unreadable".into(),
            Self::NotStreamed => "not_streamed".into(),
            Self::Oversized(_) => "oversized".into(),
            Self::Http(HttpError::CutShort) => "cut_short".into(),
            Self::Http(HttpError::Encoded(_)) => "encoded".into(),
            Self::Http(HttpError::LongHead | HttpError::LongLine) => "oversized".into(),
            Self::Http(_) => "malformed".into(),
            Self::Client(_) => "client".into(),
        }
    }

    pub(crate) fn status(status: u16, text: &[u8]) -> Self {
        Self::Status { status, text: clip(text) }
    }

    pub(crate) fn of_connect(errno: rustix::io::Errno) -> Self {
        use rustix::io::Errno;
        match errno {
            Errno::CONNREFUSED => Self::Refused(errno),
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::ADDRNOTAVAIL | Errno::AGAIN => Self::Client(errno),
            _ => Self::Connect(errno),
        }
    }
}
