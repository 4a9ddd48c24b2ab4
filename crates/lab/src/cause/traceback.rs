//! Tracebacks of Python as the output shows them.

use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;

/// One entry of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The file, as printed.
    pub file: String,
    /// The line in that file, from 1.
    pub line: u32,
    /// The function; `None` for the place of a syntax error, which is in no function.
    pub function: Option<String>,
    /// The source line, where it was printed.
    pub source: Option<String>,
    /// The line of the stream that shows this entry, from 1.
    pub at: u64,
}

/// How an exception relates to the one before it in its traceback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// It is the first.
    Root,
    /// "The above exception was the direct cause of the following exception".
    CausedBy,
    /// "During handling of the above exception, another exception occurred".
    During,
    /// It is the group that the ones before it were raised in.
    Group,
}

/// One exception with its stack, outermost entry first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// The type as printed, such as `torch.OutOfMemoryError`; empty where the output ends before it.
    pub kind: String,
    /// The first line of the message.
    pub message: String,
    /// The lines that follow the message directly: more of it, notes, or what others printed meanwhile.
    pub more: Vec<String>,
    /// The stack.
    pub frames: Vec<Frame>,
    /// Entries of a very long stack that were not kept.
    pub frames_left_out: u64,
    /// The line of the stream with type and message, from 1; that of the last entry where the output ends before it.
    pub at: u64,
    /// How it relates to the exception before it.
    pub link: Link,
}

impl Raised {
    /// The type without its module.
    #[must_use]
    pub fn short_kind(&self) -> &str {
        self.kind.rsplit('.').next().unwrap_or(&self.kind)
    }

    /// The type and the first line of the message, as Python prints them.
    #[must_use]
    pub fn headline(&self) -> String {
        if self.message.is_empty() { self.kind.clone() } else { format!("{}: {}", self.kind, self.message) }
    }

    /// The message with the lines that follow it.
    #[must_use]
    pub fn whole_message(&self) -> String {
        let mut text = self.message.clone();
        for line in &self.more {
            text.push('\n');
            text.push_str(line);
        }
        text
    }
}

/// One traceback, with all exceptions of its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traceback {
    /// The stream it stands in.
    pub stream: Stream,
    /// When its first line was read.
    pub time: TimeNs,
    /// Its first line, from 1.
    pub first_line: u64,
    /// The line of its last exception, from 1.
    pub end_line: u64,
    /// The rank, process or thread that printed it, where it is told.
    pub rank: Option<String>,
    /// What stood before `Traceback` in its first line.
    pub lead: String,
    /// The exceptions, root cause first; never empty.
    pub raised: Vec<Raised>,
    /// Other members of an exception group.
    pub siblings: Vec<Raised>,
    /// True where its first line is as Python itself prints it, with nothing before it: no logger, launcher or rank.
    pub bare: bool,
    /// True where several processes printed at once: which line belongs to whom is a best guess.
    pub interleaved: bool,
    /// True where the output itself says that the exception ended nothing: `Exception ignored in`, a logging error, a level below error.
    pub harmless: bool,
    /// False where its last line never came.
    pub complete: bool,
}

impl Traceback {
    /// The exception that everything else in the traceback follows from.
    #[must_use]
    pub fn root(&self) -> &Raised {
        &self.raised[0]
    }
}
