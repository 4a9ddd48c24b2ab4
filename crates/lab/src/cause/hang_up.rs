//! Exceptions of a server whose client has hung up: what the client got, and why it hung up, is the cause, and not that it did.

use super::facts::TrialFacts;
use super::traceback::{Raised, Traceback};

/// What is raised where a client is gone that was being read from or written to.
const KINDS: [&str; 6] = [
    "BrokenPipeError",
    "ConnectionResetError",
    "ConnectionAbortedError",
    "ClientConnectionResetError",
    "ClientDisconnect",
    "ClientDisconnected",
];
/// Files of servers that read from and write to a client.
const SERVERS: [&str; 14] = [
    "/socketserver.py",
    "/http/server.py",
    "/wsgiref/",
    "/asyncio/streams.py",
    "/asyncio/selector_events.py",
    "/uvicorn/",
    "/starlette/",
    "/hypercorn/",
    "/aiohttp/web",
    "/aiohttp/http_writer.py",
    "/gunicorn/",
    "/werkzeug/",
    "/tornado/",
    "/sanic/",
];
/// Files of those who ask others: a connection of theirs is no client's.
const CLIENTS: [&str; 12] = [
    "/http/client.py",
    "/urllib/",
    "/urllib3/",
    "/requests/",
    "/httpx/",
    "/httpcore/",
    "/aiohttp/client",
    "/aiohttp/connector.py",
    "/redis/",
    "/multiprocessing/",
    "/concurrent/futures/",
    "/asyncio/unix_events.py",
];
/// Entries at the inner end of a stack among which the server's own is looked for.
const WITHIN: usize = 4;

/// Whether a traceback of a program that lives on tells no more than that a client of it hung up.
pub(super) fn is_hang_up(traceback: &Traceback) -> bool {
    is_lost_client(traceback.root())
}

fn is_lost_client(raised: &Raised) -> bool {
    let any = |frames: &[super::traceback::Frame], files: &[&str]| {
        frames.iter().any(|frame| files.iter().any(|file| format!("/{}", frame.file.replace('\\', "/")).contains(file)))
    };
    let inner = &raised.frames[raised.frames.len().saturating_sub(WITHIN)..];
    KINDS.contains(&raised.short_kind()) && any(inner, &SERVERS) && !any(&raised.frames, &CLIENTS)
}

/// The first sign that a client hung up on a program that lives on, where it was printed while the program could be asked.
pub(super) fn hung_up(facts: &TrialFacts) -> Option<&Traceback> {
    let until = facts.stopped.as_ref().map(|stopped| stopped.at);
    let in_time = |traceback: &&Traceback| until.is_none_or(|until| traceback.time <= until);
    facts.scan.tracebacks.iter().filter(in_time).find(|traceback| is_hang_up(traceback))
}
