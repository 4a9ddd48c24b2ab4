//! One connection to the server and the request that is on it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::answer::Answer;
use crate::clock::Ns;

/// What is told of a connection, each change once.
pub(crate) const CHANGES: EventFlags = EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
/// What says that the server hung up.
pub(crate) const GONE: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) number: u64,
    /// When it was meant to start, and when it did.
    pub(crate) intended: Ns,
    pub(crate) started: Ns,
    /// How long its connection took to be set up; `None` for one that was there.
    pub(crate) connect: Option<Ns>,
    /// Whether usage was asked for.
    pub(crate) asks_usage: bool,
    /// Whether it went out a second time.
    pub(crate) again: bool,
    pub(crate) bytes: Vec<u8>,
    pub(crate) written: usize,
    pub(crate) answer: Answer,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    pub(crate) state: State,
    pub(crate) exchange: Option<Box<Exchange>>,
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is being set up; to which of the server's addresses.
    Connecting {
        /// Which one.
        address: usize,
    },
    /// It is there, and the request waits for room.
    Writing,
    /// It is there, and the request is out.
    Reading,
    /// It waits for its next request.
    Idle,
}

/// Begins to set up a connection.
pub(crate) fn connect(address: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match rustix::net::connect(&socket, address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

impl Connection {
    /// Whether the connection is there now.
    pub(crate) fn connected(&self) -> Result<(), Errno> {
        sockopt::socket_error(&self.socket)?
    }

    /// Writes what there is room for.
    pub(crate) fn write(&mut self) -> Result<(), Errno> {
        let Some(exchange) = &mut self.exchange else { return Ok(()) };
        while exchange.written < exchange.bytes.len() {
            let rest = &exchange.bytes[exchange.written..];
            match rustix::net::send(&self.socket, rest, rustix::net::SendFlags::NOSIGNAL) {
                Ok(written) => exchange.written += written,
                Err(Errno::AGAIN) => {
                    self.state = State::Writing;
                    return Ok(());
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        // Thousands of prompts that were sent need not be kept.
        exchange.bytes = Vec::new();
        exchange.written = 0;
        self.state = State::Reading;
        Ok(())
    }
}
