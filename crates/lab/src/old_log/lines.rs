//! The lines of a log, in bounded memory, and the digest of all of its bytes.

use std::borrow::Cow;
use std::io::{self, BufRead};

use sha2::{Digest, Sha256};

/// The longest part of a line that is kept, in bytes.
const LONGEST: usize = 64 << 10;

/// Reads lines one after the other.
pub(super) struct Lines<R> {
    input: R,
    hash: Sha256,
    bytes: u64,
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, hash: Sha256::new(), bytes: 0, number: 0, line: Vec::new() }
    }

    /// The next line without its end, with its number from 1; what is too long of it is left out, what is not UTF-8 is replaced.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, String)>> {
        self.line.clear();
        let mut any = false;
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                break;
            }
            any = true;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(buffer.len(), |end| end + 1);
            let kept = end.unwrap_or(taken).min(LONGEST.saturating_sub(self.line.len()));
            self.line.extend_from_slice(&buffer[..kept]);
            self.hash.update(&buffer[..taken]);
            self.bytes += taken as u64;
            self.input.consume(taken);
            if end.is_some() {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        let text: Cow<'_, str> = String::from_utf8_lossy(self.line.strip_suffix(b"\r").unwrap_or(&self.line));
        Ok(Some((self.number, text.into_owned())))
    }

    /// SHA-256 of what was read, in hex, and its length in bytes.
    pub(super) fn into_digest(self) -> (String, u64) {
        (self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{LONGEST, Lines};

    #[test]
    fn lines_of_any_length_and_any_bytes_are_read() {
        let mut log = b"one\r\n\xff\xfe two\n\n".to_vec();
        log.extend(std::iter::repeat_n(b'x', 3 * LONGEST));
        let mut lines = Lines::new(Cursor::new(log.clone()));
        let mut read = Vec::new();
        while let Some((number, text)) = lines.next().expect("reads") {
            read.push((number, text.len(), text.chars().take(9).collect::<String>()));
        }
        let expected = [(1, 3, "one"), (2, 10, "\u{fffd}\u{fffd} two"), (3, 0, ""), (4, LONGEST, "xxxxxxxxx")];
        assert_eq!(read, expected.map(|(number, length, text)| (number, length, text.to_owned())));
        assert_eq!(lines.into_digest().1, log.len() as u64);
    }
}
