//! Answers of a server in HTTP/1.1, as their bytes come: head, then a body by length, by chunks, or up to the end of the connection.
//!
//! Any split of the bytes gives the same answer. What a hostile server sends without end is refused at a limit, so that memory stays flat.

mod body;
mod head;

use self::body::Body;
use self::head::Heading;

pub(crate) use self::head::Head;

/// The longest head of an answer, in bytes.
pub(crate) const LONGEST_HEAD: usize = 32 << 10;
/// The longest line that gives the length of a chunk, or one of a trailer, in bytes.
const LONGEST_LINE: usize = 8 << 10;

/// Why bytes are no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The head, with the interim answers before it, has no end.
    #[error("read a head of more than {LONGEST_HEAD} bytes")]
    LongHead,
    /// The head is no HTTP.
    #[error("read the head: {0}")]
    Head(#[from] httparse::Error),
    /// The server speaks another protocol from here on.
    #[error("follow the server to another protocol")]
    Switched,
    /// The body is coded in a way that was not asked for.
    #[error("read a body that is coded as {0}, which was not asked for")]
    Encoded(String),
    /// The length of the body is said twice, or is no number.
    #[error("tell how long the body is")]
    Length,
    /// A chunk does not begin with its length.
    #[error("read the length of a chunk")]
    ChunkLength,
    /// A chunk does not end where it said.
    #[error("find the end of a chunk where it should be")]
    ChunkEnd,
    /// A line between chunks does not end.
    #[error("read a line of more than {LONGEST_LINE} bytes between chunks")]
    LongLine,
    /// The connection ended before the answer did.
    #[error("read the rest of the answer: the connection ended")]
    CutShort,
}

/// One answer, as far as it came.
#[derive(Debug, Default)]
pub struct Response {
    state: State,
}

#[derive(Debug)]
enum State {
    Head(Heading),
    Body(Head, Body),
    Done(Head),
}

impl Default for State {
    fn default() -> Self {
        Self::Head(Heading::default())
    }
}

impl Response {
    /// Takes bytes as they came and hands on those of the body; answers how many belonged to the answer. Those after its end are left.
    ///
    /// # Errors
    /// Where the bytes are no answer. Nothing may be given to it after that.
    pub fn take(&mut self, bytes: &[u8], mut sink: impl FnMut(&Head, &[u8])) -> Result<usize, HttpError> {
        let mut taken = 0;
        loop {
            let rest = &bytes[taken..];
            match &mut self.state {
                State::Head(heading) => {
                    let (used, head) = heading.take(rest)?;
                    taken += used;
                    let Some((head, body)) = head else {
                        if taken == bytes.len() {
                            return Ok(taken);
                        }
                        continue;
                    };
                    self.state = if body.is_empty() { State::Done(head) } else { State::Body(head, body) };
                }
                State::Body(head, body) => {
                    let (used, over) = body.take(rest, |data| sink(head, data))?;
                    taken += used;
                    if !over {
                        return Ok(taken);
                    }
                    self.state = State::Done(std::mem::take(head));
                }
                State::Done(_) => return Ok(taken),
            }
        }
    }

    /// Says that the connection ended.
    ///
    /// # Errors
    /// [`HttpError::CutShort`] where the answer was not over.
    pub fn close(&mut self) -> Result<(), HttpError> {
        match &mut self.state {
            State::Body(head, body) if body.ends_with_connection() => {
                self.state = State::Done(std::mem::take(head));
                Ok(())
            }
            State::Done(_) => Ok(()),
            State::Head(_) | State::Body(..) => Err(HttpError::CutShort),
        }
    }

    /// Whether it is whole.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    /// Whether a byte of it came.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        !matches!(&self.state, State::Head(heading) if heading.is_untouched())
    }

    /// The status, once the head was read.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.head().map(|head| head.status)
    }

    /// The head, once it was read.
    pub(crate) fn head(&self) -> Option<&Head> {
        match &self.state {
            State::Head(_) => None,
            State::Body(head, _) | State::Done(head) => Some(head),
        }
    }
}
