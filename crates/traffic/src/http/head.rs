//! The head of an answer: what it says of the status, the body and the connection.

use memchr::memmem;

use super::body::Body;
use super::{HttpError, LONGEST_HEAD};

/// More fields than any server sends.
const FIELDS: usize = 128;
/// More interim answers than any server sends.
const MOST_INTERIM: u32 = 16;

/// What a head says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// Whether the connection can be used again once the answer is whole.
    pub keep_alive: bool,
    /// Whether the body is a stream of events.
    pub is_event_stream: bool,
}

/// A head that is being read.
#[derive(Debug, Default)]
pub(super) struct Heading {
    bytes: Vec<u8>,
    /// Interim answers that were passed over.
    interim: u32,
}

impl Heading {
    pub(super) fn is_untouched(&self) -> bool {
        self.bytes.is_empty() && self.interim == 0
    }

    /// Takes bytes up to the end of the head, or of an interim answer (`100 Continue`), which is passed over.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(usize, Option<(Head, Body)>), HttpError> {
        let before = self.bytes.len();
        let room = LONGEST_HEAD - before;
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let Some(end) = end_of_head(&self.bytes, before) else {
            return if self.bytes.len() == LONGEST_HEAD { Err(HttpError::LongHead) } else { Ok((bytes.len(), None)) };
        };
        let used = end - before;
        self.bytes.truncate(end);
        let parsed = parse(&self.bytes)?;
        self.bytes.clear();
        match parsed.0.status {
            101 => Err(HttpError::Switched),
            100..=199 => {
                self.interim += 1;
                if self.interim > MOST_INTERIM { Err(HttpError::LongHead) } else { Ok((used, None)) }
            }
            _ => {
                self.bytes = Vec::new();
                Ok((used, Some(parsed)))
            }
        }
    }
}

/// The end of the head, where it is there: an empty line after `\n`, with or without `\r`. What was looked through `before` is not again.
fn end_of_head(bytes: &[u8], before: usize) -> Option<usize> {
    let from = before.saturating_sub(3);
    let after = |pattern: &[u8]| memmem::find(&bytes[from..], pattern).map(|at| from + at + pattern.len());
    match (after(b"\r\n\r\n"), after(b"\n\n")) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn parse(bytes: &[u8]) -> Result<(Head, Body), HttpError> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut answer = httparse::Response::new(&mut fields);
    answer.parse(bytes)?;
    let status = answer.code.unwrap_or_default();
    let mut head = Head { status, keep_alive: answer.version == Some(1), is_event_stream: false };
    let mut length: Option<u64> = None;
    let mut chunked = false;
    for field in answer.headers.iter() {
        let value = String::from_utf8_lossy(field.value).trim().to_ascii_lowercase();
        match field.name.to_ascii_lowercase().as_str() {
            "connection" if has(&value, "close") => head.keep_alive = false,
            "connection" if has(&value, "keep-alive") => head.keep_alive = true,
            "content-type" => head.is_event_stream = value.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"),
            "content-encoding" if !value.is_empty() && value != "identity" => return Err(HttpError::Encoded(value)),
            "transfer-encoding" => chunked = coding(&value)?,
            "content-length" => {
                let number = value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse::<u64>().ok()).flatten();
                let number = number.ok_or(HttpError::Length)?;
                if length.is_some_and(|length| length != number) {
                    return Err(HttpError::Length);
                }
                length = Some(number);
            }
            _ => {}
        }
    }
    let body = match (status, chunked, length) {
        (204 | 304, ..) => Body::Length(0),
        (_, true, _) => Body::chunked(),
        (_, false, Some(length)) => Body::Length(length),
        (_, false, None) => Body::UntilClose,
    };
    head.keep_alive &= !body.ends_with_connection();
    Ok((head, body))
}

/// Whether a body is in chunks; any other coding was not asked for.
fn coding(value: &str) -> Result<bool, HttpError> {
    match value {
        "chunked" => Ok(true),
        "" | "identity" => Ok(false),
        other => Err(HttpError::Encoded(other.to_owned())),
    }
}

fn has(list: &str, word: &str) -> bool {
    list.split(',').any(|one| one.trim() == word)
}
