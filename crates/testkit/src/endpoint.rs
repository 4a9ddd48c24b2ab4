//! A server that plays a script for each request: an OpenAI-compatible endpoint at a set pace, and every way in which one can misbehave.
//!
//! One thread serves thousands of connections, so that it costs little beside the client that is measured against it. It notes when the first and the last
//! piece of each answer was written, by the system's monotonic clock.

mod serve;
mod wire;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

pub use wire::{DONE, LAST_CHUNK, OPENING, STREAM_HEAD, answer, chunked, event, piece, usage};

/// One request, as it came.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Its number in the order of arrival, from 0.
    pub number: u64,
    /// Its first line and its fields.
    pub head: &'a str,
    /// Its body.
    pub body: &'a [u8],
}

/// One step of an answer.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Waits.
    Wait(Duration),
    /// Sends one piece of output after another, each with one token in it, at this pace; the first at once.
    Stream {
        /// How many pieces.
        pieces: u32,
        /// Between two of them.
        pace: Duration,
        /// Whether they are those of a chat.
        chat: bool,
    },
    /// Sends the same bytes again and again, as fast as they are taken, so many times.
    Flood(Vec<u8>, u64),
    /// Closes the connection in order.
    Close,
    /// Breaks the connection off.
    Reset,
}

/// When an answer was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The prompt, or the content of the first message.
    pub prompt: String,
    /// When the first piece of output was written, in nanoseconds of the monotonic clock.
    pub first_ns: u64,
    /// When the last was.
    pub last_ns: u64,
}

/// Decides what is answered to a request.
pub type Script = Box<dyn FnMut(&Asked<'_>) -> Vec<Step> + Send>;

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    served: Arc<Mutex<Vec<Served>>>,
    /// Its other end is watched; closing it ends the server.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Starts a server on a free port of this machine.
    ///
    /// # Panics
    /// Where the machine has none.
    #[must_use]
    pub fn start(script: Script) -> Self {
        Self::start_at(0, script).expect("a free port")
    }

    /// Starts a server on a port.
    ///
    /// # Errors
    /// Where the port is not free.
    pub fn start_at(port: u16, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        // A thousand connections may come at once, more than the standard library lets wait.
        rustix::net::listen(&listener, 4096)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (watched, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let served = Arc::new(Mutex::new(Vec::new()));
        let mut server = serve::Server::new(listener, watched, script, Arc::clone(&served))?;
        let thread = std::thread::spawn(move || server.run());
        Ok(Self { address, served, stop: Some(stop), thread: Some(thread) })
    }

    /// Its address, such as `http://127.0.0.1:40001`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The answers that were written so far.
    ///
    /// # Panics
    /// Where the server's thread panicked.
    #[must_use]
    pub fn served(&self) -> Vec<Served> {
        self.served.lock().expect("the server's thread did not panic").clone()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
