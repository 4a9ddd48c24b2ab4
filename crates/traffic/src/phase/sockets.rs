//! What happened at a socket, and what it does to the request that is on it.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::{BUFFER, Engine, Part, key};
use crate::answer::Standing;
use crate::clock::Ns;
use crate::connection::{Exchange, GONE, State};
use crate::fault::Fault;

impl Engine {
    pub(super) fn happened(&mut self, part: &mut Part<'_>, key: u64) -> Result<(), Errno> {
        let Some(index) = self.index_of(key) else { return Ok(()) };
        let slot = &mut self.slots[index];
        let Some((flags, at)) = slot.told.take() else { return Ok(()) };
        let Some(connection) = &mut slot.connection else { return Ok(()) };
        match connection.state {
            State::Connecting { address } => self.connected(part, index, address, at),
            // That there is room to write is nothing new.
            State::Idle if !flags.intersects(EventFlags::IN | GONE) => Ok(()),
            State::Idle => {
                // An end, or bytes that nobody asked for.
                self.close(index);
                self.idle.retain(|idle| *idle != index);
                Ok(())
            }
            State::Writing if flags.contains(EventFlags::OUT) => {
                // What the server says before it hangs up is worth more than that it did.
                let failed = connection.write().is_err();
                if failed || flags.intersects(EventFlags::IN | GONE) { self.read(part, index, flags, at) } else { Ok(()) }
            }
            State::Writing | State::Reading if !flags.intersects(EventFlags::IN | GONE) => Ok(()),
            State::Writing | State::Reading => self.read(part, index, flags, at),
        }
    }

    /// Takes what came. One read a turn: a server that never stops sending must not keep the others waiting.
    pub(super) fn read(&mut self, part: &mut Part<'_>, index: usize, flags: EventFlags, at: Ns) -> Result<(), Errno> {
        let Some(connection) = &mut self.slots[index].connection else { return Ok(()) };
        let Some(exchange) = &mut connection.exchange else { return Ok(()) };
        let (length, _) = match rustix::net::recv(&connection.socket, &mut self.buffer[..], rustix::net::RecvFlags::empty()) {
            Ok(read) => read,
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {
                self.tell(key(index, self.slots[index].generation), flags, at);
                return Ok(());
            }
            Err(errno) => return self.broken(part, index, at, Some(errno)),
        };
        if length == 0 {
            return self.broken(part, index, at, None);
        }
        let itl = &mut part.measure.itl;
        let standing = exchange.answer.take(&self.buffer[..length], at, &mut |gap| itl.record(gap));
        match standing {
            Ok(Standing::Open) => {
                // A change is told once: what is left, and the end that was told with it, are not told again.
                if length == BUFFER || flags.intersects(GONE) {
                    self.tell(key(index, self.slots[index].generation), flags, at);
                }
                Ok(())
            }
            Ok(Standing::Over { reusable }) if reusable && connection.state == State::Reading && !flags.intersects(GONE) => {
                connection.state = State::Idle;
                let exchange = connection.exchange.take();
                self.idle.push(index);
                exchange.into_iter().for_each(|exchange| self.over(part, *exchange, at, Ok(())));
                Ok(())
            }
            Ok(Standing::Over { .. }) => {
                self.close(index).into_iter().for_each(|exchange| self.over(part, *exchange, at, Ok(())));
                Ok(())
            }
            Err(fault) => {
                let Some(exchange) = self.close(index) else { return Ok(()) };
                self.failed(part, exchange, at, fault)
            }
        }
    }

    /// The connection ended, in order or not.
    fn broken(&mut self, part: &mut Part<'_>, index: usize, at: Ns, errno: Option<Errno>) -> Result<(), Errno> {
        let Some(mut exchange) = self.close(index) else { return Ok(()) };
        let was_idle_before = exchange.connect.is_none();
        if was_idle_before && !exchange.again && !exchange.answer.has_begun() {
            // The server closed an idle connection just as the request went out.
            return self.again(part, exchange);
        }
        let itl = &mut part.measure.itl;
        let closed = exchange.answer.close(at, &mut |gap| itl.record(gap));
        let result = match (closed, errno) {
            (Ok(()), _) => Ok(()),
            (Err(Fault::Http(_)), Some(errno)) => Err(Fault::Reset(errno)),
            (Err(fault), _) => Err(fault),
        };
        self.over(part, *exchange, at, result);
        Ok(())
    }

    pub(super) fn failed(&mut self, part: &mut Part<'_>, exchange: Box<Exchange>, at: Ns, fault: Fault) -> Result<(), Errno> {
        let refuses_wish = matches!(&fault, Fault::Status { status: 400 | 422, text } if text.contains("stream_options"));
        if refuses_wish && exchange.asks_usage && !exchange.again {
            self.requests.asks_usage = false;
            return self.again(part, exchange);
        }
        self.over(part, *exchange, at, Err(fault));
        Ok(())
    }
}
