//! Frames: how messages lie in a stream of bytes.
//!
//! A frame is the length of its head and that of its body, 4 bytes each, most significant first, then the head (one message as JSON) and the body (bytes
//! as they are, for which JSON has no good form). The highest bit of the body's length says that the body is compressed with zstd.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Bytes that a head may have: a command line, at the most that Linux allows, written in JSON.
const MOST_HEAD: usize = 16 << 20;
/// Bytes that a body may have, packed or not.
pub const MOST_BODY: usize = 64 << 20;
/// Bodies below this many bytes are not worth compressing.
const WORTH_PACKING: usize = 256;
/// The level of zstd: fast enough for any link.
const LEVEL: i32 = 1;
/// Says that the body is compressed.
const PACKED: u32 = 1 << 31;

/// What can be wrong with a stream of frames.
#[derive(Debug, Error)]
pub enum FrameError {
    /// It broke.
    #[error("the connection broke")]
    Broken(#[source] io::Error),
    /// It ended within a frame.
    #[error("the connection ended within a message")]
    Cut,
    /// A frame is longer than any is.
    #[error("a message of {0} bytes is longer than any is")]
    TooLong(usize),
    /// A message is none that is known.
    #[error("a message cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// A body cannot be unpacked.
    #[error("a message cannot be unpacked")]
    Damaged(#[source] io::Error),
}

/// Writes one message with its body.
///
/// # Errors
/// The stream cannot be written to, or the body is longer than [`MOST_BODY`].
pub fn write(to: &mut impl Write, message: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(message)?;
    if head.len() > MOST_HEAD || body.len() > MOST_BODY {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a message is too long"));
    }
    let packed = if body.len() >= WORTH_PACKING { Some(zstd::bulk::compress(body, LEVEL)?) } else { None };
    let packed = packed.filter(|packed| packed.len() < body.len());
    let (body, flag) = packed.as_deref().map_or((body, 0), |packed| (packed, PACKED));
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(8 + head.len());
    frame.extend(length(&head).to_be_bytes());
    frame.extend((length(body) | flag).to_be_bytes());
    frame.extend(head);
    to.write_all(&frame)?;
    to.write_all(body)?;
    to.flush()
}

/// Reads one message with its body; `None` where the stream ends before one.
///
/// # Errors
/// The stream breaks or ends within a frame, or the frame is none.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<(T, Vec<u8>)>, FrameError> {
    let mut lengths = [0; 8];
    match from.read(&mut lengths[..1]) {
        Ok(0) => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return read(from),
        Err(error) => return Err(FrameError::Broken(error)),
    }
    fill(from, &mut lengths[1..])?;
    let [a, b, c, d, e, f, g, h] = lengths;
    let (head, body) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
    let is_packed = body & PACKED != 0;
    let head = take(from, head, MOST_HEAD)?;
    let body = take(from, body & !PACKED, MOST_BODY)?;
    let message = serde_json::from_slice(&head).map_err(FrameError::Unreadable)?;
    let body = if is_packed { unpacked(&body)? } else { body };
    Ok(Some((message, body)))
}

/// Reads so many bytes; memory grows with what arrives, not with what is announced.
fn take(from: &mut impl Read, length: u32, most: usize) -> Result<Vec<u8>, FrameError> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > most {
        return Err(FrameError::TooLong(length));
    }
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes).map_err(FrameError::Broken)?;
    if bytes.len() == length { Ok(bytes) } else { Err(FrameError::Cut) }
}

/// Unpacks a body; memory grows with what comes out of it.
fn unpacked(packed: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut body = Vec::new();
    let decoder = zstd::stream::Decoder::with_buffer(packed).map_err(FrameError::Damaged)?;
    decoder.take(MOST_BODY as u64 + 1).read_to_end(&mut body).map_err(FrameError::Damaged)?;
    if body.len() > MOST_BODY { Err(FrameError::TooLong(body.len())) } else { Ok(body) }
}

fn fill(from: &mut impl Read, bytes: &mut [u8]) -> Result<(), FrameError> {
    from.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => FrameError::Cut,
        _ => FrameError::Broken(error),
    })
}

#[cfg(test)]
mod tests {
    use super::{FrameError, MOST_BODY, MOST_HEAD, read, write};

    #[test]
    fn messages_and_their_bytes_arrive_as_they_are() {
        let mut stream = Vec::new();
        let bodies = [Vec::new(), vec![0, 255, b'\n'], vec![b'x'; 1 << 20], (0..100_000_u32).flat_map(u32::to_le_bytes).collect()];
        for (number, body) in bodies.iter().enumerate() {
            write(&mut stream, &number, body).expect("written");
        }
        assert!(stream.len() < 700_000, "what repeats is compressed: {}", stream.len());
        let mut stream = stream.as_slice();
        for (number, body) in bodies.iter().enumerate() {
            let (read, bytes) = read::<usize>(&mut stream).expect("read").expect("there is one");
            assert!(read == number && bytes == *body, "{number}");
        }
        assert!(read::<usize>(&mut stream).expect("ends").is_none());
    }

    #[test]
    fn what_would_be_refused_unpacked_is_not_sent_packed() {
        let mut stream = Vec::new();
        let refused = write(&mut stream, &7, &vec![0; MOST_BODY + 1]).expect_err("too long");
        assert!(refused.kind() == std::io::ErrorKind::InvalidInput && stream.is_empty());
        write(&mut stream, &7, &vec![0; MOST_BODY]).expect("written");
        assert!(read::<u32>(&mut stream.as_slice()).expect("read").is_some_and(|(_, body)| body.len() == MOST_BODY));
    }

    #[test]
    fn a_cut_or_damaged_stream_is_told_and_takes_no_memory() {
        let mut stream = Vec::new();
        write(&mut stream, &7, &[b'y'; 1000]).expect("written");
        for length in 1..stream.len() {
            assert!(matches!(read::<u32>(&mut &stream[..length]), Err(FrameError::Cut)), "{length}");
        }
        let mut claims = stream.clone();
        claims[0] = 255;
        assert!(matches!(read::<u32>(&mut claims.as_slice()), Err(FrameError::TooLong(length)) if length > MOST_HEAD));
        assert!(matches!(read::<String>(&mut stream.as_slice()), Err(FrameError::Unreadable(_))));
        let last = stream.len() - 5;
        stream[last] ^= 0xff;
        stream[last - 3] ^= 0xff;
        assert!(!matches!(read::<u32>(&mut stream.as_slice()), Ok(Some((_, body))) if body == [b'y'; 1000]));
    }
}
