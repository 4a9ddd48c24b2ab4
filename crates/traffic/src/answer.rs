//! One answer while it comes: bytes in, times and counts out.

use crate::clock::Ns;
use crate::decode::{Said, Usage, clip, decode};
use crate::fault::Fault;
use crate::http::Response;
use crate::sse::{Event, Scanner};

/// So much is kept of what comes with a status that is none of success.
const KEPT: usize = 512;
/// No engine makes tokens of one answer faster than this, in nanoseconds a token.
const FASTEST: u64 = 5_000;
/// Answers with fewer tokens say nothing of what is possible.
const TELLING: u64 = 16;

/// One answer as far as it came.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    response: Response,
    reader: Reader,
}

/// What is read of the body.
#[derive(Debug, Default)]
struct Reader {
    events: Scanner,
    refused: Vec<u8>,
    seen: Seen,
    fault: Option<Fault>,
}

/// What was seen of an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// When the first output came.
    pub(crate) first: Option<Ns>,
    /// When the last output came.
    pub(crate) last: Option<Ns>,
    /// When `[DONE]` came.
    pub(crate) done: Option<Ns>,
    /// Chunks with output.
    pub(crate) chunks: u64,
    /// Chunks that may stand for tokens without text, and when the first and the last of them came.
    silent: u64,
    silent_first: Option<Ns>,
    silent_last: Option<Ns>,
    /// What the server counted.
    pub(crate) usage: Option<Usage>,
    /// Tokens in the first chunk, where each chunk says how many there are so far.
    first_tokens: Option<u64>,
}

/// Where an answer stands after bytes were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// More is to come.
    Open,
    /// It is over; says whether the connection can be used again.
    Over {
        /// Whether the connection can be used again.
        reusable: bool,
    },
}

impl Answer {
    /// Takes bytes that were there at `at`. `gap` is told the time between two chunks with output.
    pub(crate) fn take(&mut self, bytes: &[u8], at: Ns, gap: &mut impl FnMut(Ns)) -> Result<Standing, Fault> {
        let Self { response, reader } = self;
        let taken = response.take(bytes, |head, data| {
            if head.status == 200 && head.is_event_stream {
                reader.stream(data, at, gap);
            } else {
                let room = KEPT.saturating_sub(reader.refused.len());
                reader.refused.extend_from_slice(&data[..data.len().min(room)]);
            }
        })?;
        if let Some(fault) = reader.fault.take() {
            return Err(fault);
        }
        let keep_alive = response.head().is_some_and(|head| head.keep_alive);
        if !response.is_done() {
            // Where the connection is not used again, what follows [DONE] says nothing.
            let enough = reader.seen.done.is_some() && !keep_alive;
            return Ok(if enough { Standing::Over { reusable: false } } else { Standing::Open });
        }
        self.over(at, gap)?;
        // Bytes after the end are no answer to anything: whatever comes next on this connection cannot be told from them.
        Ok(Standing::Over { reusable: keep_alive && taken == bytes.len() })
    }

    /// Takes the end of the connection.
    pub(crate) fn close(&mut self, at: Ns, gap: &mut impl FnMut(Ns)) -> Result<(), Fault> {
        let closed = self.response.close();
        if self.reader.seen.done.is_some() {
            return Ok(());
        }
        match closed {
            Err(_) if self.response.status().is_some_and(|status| status != 200) => Err(self.refusal()),
            Err(error) => Err(error.into()),
            Ok(()) => self.over(at, gap),
        }
    }

    /// Takes the end of the time that it had: what the server had said by then comes first.
    pub(crate) fn time_out(&mut self) -> Result<(), Fault> {
        match self.response.status() {
            _ if self.reader.seen.done.is_some() => Ok(()),
            Some(status) if status != 200 => Err(self.refusal()),
            _ => Err(Fault::Timeout { chunks: self.reader.seen.chunks }),
        }
    }

    /// Whether a byte of it came.
    pub(crate) fn has_begun(&self) -> bool {
        self.response.has_begun()
    }

    /// What was seen of it.
    pub(crate) fn into_seen(self) -> Seen {
        self.reader.seen
    }

    fn refusal(&self) -> Fault {
        Fault::status(self.response.status().unwrap_or_default(), &self.reader.refused)
    }

    fn over(&mut self, at: Ns, gap: &mut impl FnMut(Ns)) -> Result<(), Fault> {
        let Some(head) = self.response.head() else { return Ok(()) };
        if head.status != 200 {
            return Err(self.refusal());
        }
        if !head.is_event_stream {
            return Err(Fault::NotStreamed);
        }
        let reader = &mut self.reader;
        let mut events = std::mem::take(&mut reader.events);
        events.close(|event| reader.event(event, at, gap))?;
        if let Some(fault) = reader.fault.take() {
            return Err(fault);
        }
        if reader.seen.done.is_none() {
            return Err(Fault::NoDone { chunks: reader.seen.chunks });
        }
        Ok(())
    }
}

impl Reader {
    fn stream(&mut self, data: &[u8], at: Ns, gap: &mut impl FnMut(Ns)) {
        if self.fault.is_some() {
            return;
        }
        let mut events = std::mem::take(&mut self.events);
        if let Err(oversized) = events.take(data, |event| self.event(event, at, gap)) {
            self.fault.get_or_insert(oversized.into());
        }
        self.events = events;
    }

    fn event(&mut self, event: Event<'_>, at: Ns, gap: &mut impl FnMut(Ns)) {
        if self.fault.is_some() || self.seen.done.is_some() {
            return;
        }
        match decode(event.data, event.is_error) {
            Said::Done => self.seen.done = Some(at),
            Said::Chunk { output, silent, usage } => self.seen.chunk(output, silent, usage, at, gap),
            Said::GivenUp(word) => self.fault = Some(Fault::GivenUp { word, chunks: self.seen.chunks }),
            Said::Error(text) => self.fault = Some(Fault::InStream { text }),
            Said::Unreadable => self.fault = Some(Fault::Unreadable { text: clip(event.data) }),
        }
    }
}

impl Seen {
    fn chunk(&mut self, output: bool, silent: bool, usage: Option<Usage>, at: Ns, gap: &mut impl FnMut(Ns)) {
        if usage.is_some() {
            self.usage = usage;
        }
        if silent {
            self.silent += 1;
            self.silent_first.get_or_insert(at);
            self.silent_last = Some(at);
        }
        if !output {
            return;
        }
        self.chunks += 1;
        if let Some(last) = self.last {
            gap(at.saturating_sub(last));
        } else {
            self.first = Some(at);
            self.first_tokens = usage.map(|usage| usage.completion_tokens);
        }
        self.last = Some(at);
    }

    /// Settles an answer that is over: tokens without text (such as those of random weights that no tokenizer knows) are told by what the server
    /// counted, and by nothing else.
    pub(crate) fn settle(&mut self, started: Ns) -> Result<(), Fault> {
        let counted = self.usage.map_or(0, |usage| usage.completion_tokens);
        if self.chunks == 0 {
            if counted == 0 || self.silent == 0 {
                return Err(Fault::Empty);
            }
            (self.chunks, self.first, self.last) = (self.silent, self.silent_first, self.silent_last);
        }
        let (tokens, took) = (self.tokens(), self.last.unwrap_or(started).saturating_sub(started));
        if tokens >= TELLING && took < tokens.saturating_mul(FASTEST) {
            return Err(Fault::TooFast { tokens, micros: took / 1000 });
        }
        Ok(())
    }

    /// Output tokens: as the server counted them, or else one for each chunk.
    pub(crate) fn tokens(&self) -> u64 {
        self.usage.map(|usage| usage.completion_tokens).filter(|tokens| *tokens > 0).unwrap_or(self.chunks)
    }

    /// Whether the server counted.
    pub(crate) fn is_counted(&self) -> bool {
        self.usage.is_some_and(|usage| usage.completion_tokens > 0)
    }

    /// Nanoseconds a token after the first chunk; `None` where there was but one chunk. How many tokens the first chunk held is known where each
    /// chunk counts; otherwise it held as many as the others on average.
    pub(crate) fn time_per_token(&self) -> Option<Ns> {
        let span = self.last?.checked_sub(self.first?)?;
        if self.chunks < 2 {
            return None;
        }
        let tokens = self.tokens();
        // Where the last chunk's count stands for all, the first one's is no count of its own.
        let first = self.first_tokens.filter(|first| *first > 0 && *first < tokens);
        let after = first.map_or_else(|| tokens as f64 * (self.chunks - 1) as f64 / self.chunks as f64, |first| (tokens - first) as f64);
        Some((span as f64 / after.max(1.0)) as Ns)
    }
}
