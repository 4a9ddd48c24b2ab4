//! The body of an answer: where it ends, and which of its bytes are data.

use super::{HttpError, LONGEST_LINE};

/// A body that is being read.
#[derive(Debug)]
pub(super) enum Body {
    /// So many bytes are still to come.
    Length(u64),
    /// Chunks, each with its length before it.
    Chunked(Chunks),
    /// Everything up to the end of the connection.
    UntilClose,
}

/// Where in a body of chunks the next byte lies.
#[derive(Debug)]
pub(super) enum Chunks {
    /// In the line that gives the length of a chunk.
    Size { value: u64, digits: bool, extension: bool, length: usize },
    /// So many bytes of a chunk are still to come.
    Data(u64),
    /// Between the data of a chunk and the end of its line.
    End { seen_cr: bool },
    /// In a line after the last chunk. `length` counts the bytes of all such lines, `line` those of the current one.
    Trailer { line: usize, length: usize },
}

/// The start of a line with the length of a chunk.
const SIZE: Chunks = Chunks::Size { value: 0, digits: false, extension: false, length: 0 };

impl Body {
    pub(super) fn chunked() -> Self {
        Self::Chunked(SIZE)
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Length(0))
    }

    pub(super) fn ends_with_connection(&self) -> bool {
        matches!(self, Self::UntilClose)
    }

    /// Takes bytes, hands on data, and answers how many were taken and whether the body is over.
    pub(super) fn take(&mut self, bytes: &[u8], mut sink: impl FnMut(&[u8])) -> Result<(usize, bool), HttpError> {
        match self {
            Self::Length(left) => {
                let used = part(bytes, *left);
                *left -= used as u64;
                if used > 0 {
                    sink(&bytes[..used]);
                }
                Ok((used, *left == 0))
            }
            Self::Chunked(chunks) => chunks.take(bytes, sink),
            Self::UntilClose => {
                if !bytes.is_empty() {
                    sink(bytes);
                }
                Ok((bytes.len(), false))
            }
        }
    }
}

/// How many of the bytes belong to so many that are still to come.
fn part(bytes: &[u8], left: u64) -> usize {
    usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()))
}

impl Chunks {
    fn take(&mut self, bytes: &[u8], mut sink: impl FnMut(&[u8])) -> Result<(usize, bool), HttpError> {
        let mut taken = 0;
        while taken < bytes.len() {
            if let Self::Data(left) = self {
                let used = part(&bytes[taken..], *left);
                *left -= used as u64;
                let over = *left == 0;
                sink(&bytes[taken..taken + used]);
                taken += used;
                if over {
                    *self = Self::End { seen_cr: false };
                }
                continue;
            }
            let byte = bytes[taken];
            taken += 1;
            if self.line_byte(byte)? {
                return Ok((taken, true));
            }
        }
        Ok((taken, false))
    }

    /// Takes a byte between data; answers whether the body is over.
    fn line_byte(&mut self, byte: u8) -> Result<bool, HttpError> {
        match self {
            Self::Size { value, digits, extension, length } => {
                *length += 1;
                if *length > LONGEST_LINE {
                    return Err(HttpError::LongLine);
                }
                match byte {
                    b'\n' if !*digits => return Err(HttpError::ChunkLength),
                    b'\n' => *self = if *value == 0 { Self::Trailer { line: 0, length: 0 } } else { Self::Data(*value) },
                    _ if *extension => {}
                    b';' | b' ' | b'\t' | b'\r' if *digits => *extension = true,
                    _ => {
                        let digit = char::from(byte).to_digit(16).ok_or(HttpError::ChunkLength)?;
                        let shifted = value.checked_mul(16).ok_or(HttpError::ChunkLength)?;
                        (*value, *digits) = (shifted | u64::from(digit), true);
                    }
                }
            }
            Self::End { seen_cr } => match byte {
                b'\r' if !*seen_cr => *seen_cr = true,
                b'\n' => *self = SIZE,
                _ => return Err(HttpError::ChunkEnd),
            },
            Self::Trailer { line, length } => {
                *length += 1;
                match byte {
                    b'\n' if *line == 0 => return Ok(true),
                    b'\n' => *line = 0,
                    b'\r' => {}
                    _ => *line += 1,
                }
                if *length > LONGEST_LINE {
                    return Err(HttpError::LongLine);
                }
            }
            Self::Data(_) => {}
        }
        Ok(false)
    }
}
