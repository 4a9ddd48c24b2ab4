//! Requests that go out: on a connection that waits for one, on a new one, or a second time.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::{Engine, Part, Slot, key};
use crate::answer::Answer;
use crate::clock::{self, Ns};
use crate::connection::{CHANGES, Connection, Exchange, State, connect};
use crate::fault::Fault;

impl Engine {
    /// Sends a request on a connection that waits for one, or on a new one.
    pub(super) fn send(&mut self, part: &mut Part<'_>, mut exchange: Box<Exchange>) -> Result<(), Errno> {
        let deadline = exchange.started.saturating_add(self.timeout);
        while let Some(index) = self.idle.pop() {
            let Some(connection) = &mut self.slots[index].connection else { continue };
            connection.exchange = Some(exchange);
            match connection.write() {
                Ok(()) => {
                    self.await_answer(index, deadline);
                    return Ok(());
                }
                // The server closed it while it was idle; nothing of the request went out.
                Err(_) => match self.close(index) {
                    Some(back) => exchange = back,
                    None => return Ok(()),
                },
            }
            exchange.written = 0;
        }
        self.open(part, exchange, 0, deadline)
    }

    /// Begins a new connection for a request.
    pub(super) fn open(&mut self, part: &mut Part<'_>, exchange: Box<Exchange>, address: usize, deadline: Ns) -> Result<(), Errno> {
        let socket = match connect(&self.addresses[address]) {
            Ok(socket) => socket,
            Err(errno) if address + 1 < self.addresses.len() && errno == Errno::CONNREFUSED => {
                return self.open(part, exchange, address + 1, deadline);
            }
            Err(errno) => {
                self.over(part, *exchange, clock::now(), Err(Fault::of_connect(errno)));
                return Ok(());
            }
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let slot = &mut self.slots[index];
        slot.connection = Some(Connection { socket, state: State::Connecting { address }, exchange: Some(exchange) });
        let key = key(index, slot.generation);
        if let Some(connection) = &slot.connection {
            self.poller.add(&connection.socket, key, CHANGES)?;
        }
        self.await_answer(index, deadline);
        Ok(())
    }

    pub(super) fn await_answer(&mut self, index: usize, deadline: Ns) {
        self.deadlines.push_back((deadline, key(index, self.slots[index].generation)));
    }

    pub(super) fn connected(&mut self, part: &mut Part<'_>, index: usize, address: usize, at: Ns) -> Result<(), Errno> {
        let Some(connection) = &mut self.slots[index].connection else { return Ok(()) };
        if let Err(errno) = connection.connected() {
            let Some(exchange) = self.close(index) else { return Ok(()) };
            if address + 1 < self.addresses.len() && errno == Errno::CONNREFUSED {
                let deadline = exchange.started.saturating_add(self.timeout);
                return self.open(part, exchange, address + 1, deadline);
            }
            self.over(part, *exchange, at, Err(Fault::of_connect(errno)));
            return Ok(());
        }
        if let Some(exchange) = &mut connection.exchange {
            exchange.connect = Some(at.saturating_sub(exchange.started));
        }
        match connection.write() {
            Ok(()) => Ok(()),
            Err(_) => self.read(part, index, EventFlags::IN, at),
        }
    }

    /// Sends a request a second time, on a new connection; its times run on.
    pub(super) fn again(&mut self, part: &mut Part<'_>, mut exchange: Box<Exchange>) -> Result<(), Errno> {
        part.measure.retried += 1;
        exchange.bytes = self.requests.bytes(exchange.number);
        exchange.asks_usage = self.requests.asks_usage;
        (exchange.written, exchange.answer, exchange.again) = (0, Answer::default(), true);
        let deadline = exchange.started.saturating_add(self.timeout);
        self.open(part, exchange, 0, deadline)
    }
}
