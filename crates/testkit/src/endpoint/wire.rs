//! What goes over the wire: heads, chunks, events.

use serde_json::{Value, json};

use super::Step;

/// The head of a streamed answer.
pub const STREAM_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ndate: Mon, 30 Nov 2026 00:00:00 GMT\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
/// The end of a body in chunks.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// The event that ends a stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";
/// The event that opens a chat and holds no output.
pub const OPENING: &[u8] = b"data: {\"id\":\"chatcmpl-0\",\"object\":\"chat.completion.chunk\",\"created\":1764460800,\"model\":\"mock\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";

const CHAT: &[u8] = b"data: {\"id\":\"chatcmpl-8a51c3f0b2d94e6f9b1e7c5d3a2f4e60\",\"object\":\"chat.completion.chunk\",\"created\":1764460800,\"model\":\"mock\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";
const COMPLETION: &[u8] = b"data: {\"id\":\"cmpl-8a51c3f0b2d94e6f9b1e7c5d3a2f4e60\",\"object\":\"text_completion\",\"created\":1764460800,\"model\":\"mock\",\"choices\":[{\"index\":0,\"text\":\" word\",\"logprobs\":null,\"finish_reason\":null,\"stop_reason\":null}],\"usage\":null}\n\n";

/// The event of one token.
#[must_use]
pub fn piece(chat: bool) -> &'static [u8] {
    if chat { CHAT } else { COMPLETION }
}

/// An event with JSON in it.
#[must_use]
pub fn event(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

/// The event in which the server counts.
#[must_use]
pub fn usage(prompt: u64, completion: u64) -> Vec<u8> {
    let total = prompt + completion;
    event(&json!({ "id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1_764_460_800, "model": "mock", "choices": [],
        "usage": { "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total } }))
}

/// Bytes as one chunk.
#[must_use]
pub fn chunked(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// A whole answer with a length.
#[must_use]
pub fn answer(status: u16, kind: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

impl Step {
    /// A whole and good answer of so many tokens at a pace.
    #[must_use]
    pub fn good(pieces: u32, pace: std::time::Duration, prompt_tokens: u64) -> Vec<Self> {
        let end = [chunked(&usage(prompt_tokens, u64::from(pieces))), chunked(DONE), LAST_CHUNK.to_vec()].concat();
        vec![
            Self::Send([STREAM_HEAD, &chunked(OPENING)].concat()),
            Self::Wait(pace),
            Self::Stream { pieces, pace, chat: true },
            Self::Send(end),
        ]
    }
}
