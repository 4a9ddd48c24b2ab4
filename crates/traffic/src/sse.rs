//! Server-sent events, as their bytes come: lines ended by `\n`, `\r\n` or `\r`, joined to events by empty lines.
//!
//! The data of an event is copied once, into room that is used again. An event that is longer than [`LONGEST_EVENT`] is refused, so that memory stays
//! flat.

use memchr::memchr2;

/// The longest event, in bytes.
pub(crate) const LONGEST_EVENT: usize = 1 << 20;

/// An event is longer than 1 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("read an event of more than {LONGEST_EVENT} bytes")]
pub struct Oversized;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Whether its name is `error`.
    pub is_error: bool,
    /// Its data, the lines joined by `\n`.
    pub data: &'a [u8],
}

/// Finds the events in a stream of bytes.
#[derive(Debug, Default)]
pub struct Scanner {
    /// A line whose end did not come yet.
    line: Vec<u8>,
    /// The lines of data of an event whose end did not come yet, each with a `\n` after it.
    data: Vec<u8>,
    has_data: bool,
    is_error: bool,
    /// The last byte was `\r`: a `\n` that follows belongs to it.
    after_cr: bool,
    /// Whether a line was read: a byte order mark is passed over before the first.
    begun: bool,
}

impl Scanner {
    /// Takes bytes and hands on the events that end in them.
    ///
    /// # Errors
    /// Where an event is longer than 1 MiB.
    pub fn take(&mut self, mut bytes: &[u8], mut sink: impl FnMut(Event<'_>)) -> Result<(), Oversized> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let line = &bytes[..end];
            let rest = &bytes[end + 1..];
            bytes = match (bytes[end], rest.first()) {
                (b'\r', Some(b'\n')) => &rest[1..],
                (b'\r', None) => {
                    self.after_cr = true;
                    rest
                }
                _ => rest,
            };
            if self.line.is_empty() {
                self.whole_line(line, &mut sink)?;
            } else {
                self.keep(line)?;
                let line = std::mem::take(&mut self.line);
                self.whole_line(&line, &mut sink)?;
                // The room is kept for the next line that is split.
                self.line = line;
                self.line.clear();
            }
        }
        self.keep(bytes)
    }

    /// Takes the end of the stream: an event without an empty line after it counts too, since some servers close instead.
    ///
    /// # Errors
    /// As [`Scanner::take`].
    pub fn close(&mut self, mut sink: impl FnMut(Event<'_>)) -> Result<(), Oversized> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.whole_line(&line, &mut sink)?;
        }
        self.dispatch(&mut sink);
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Oversized> {
        if self.line.len() + self.data.len() + bytes.len() > LONGEST_EVENT {
            return Err(Oversized);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn whole_line(&mut self, line: &[u8], sink: &mut impl FnMut(Event<'_>)) -> Result<(), Oversized> {
        let line = if self.begun { line } else { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) };
        self.begun = true;
        if line.is_empty() {
            self.dispatch(sink);
            return Ok(());
        }
        let (field, value) = line.iter().position(|byte| *byte == b':').map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add(value)?,
            b"event" => self.is_error = value == b"error",
            // Comments, ids and whatever else a server may say.
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, value: &[u8]) -> Result<(), Oversized> {
        if self.data.len() + value.len() > LONGEST_EVENT {
            return Err(Oversized);
        }
        self.data.extend_from_slice(value);
        self.data.push(b'\n');
        self.has_data = true;
        Ok(())
    }

    fn dispatch(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        if self.has_data {
            let data = self.data.strip_suffix(b"\n").unwrap_or(&self.data);
            sink(Event { is_error: self.is_error, data });
        }
        self.data.clear();
        (self.has_data, self.is_error) = (false, false);
    }
}
