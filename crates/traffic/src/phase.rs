//! The loop: starts requests when they are meant to start, takes what comes, ends what takes too long.
//!
//! Looking and reading are apart. A look tells of all sockets at which something changed since the last one, and one time stamp is taken for all of them;
//! then a few are read, and it is looked again. So a burst of a thousand tokens is stamped when it comes, and not when its turn to be read comes. The
//! time between two looks is the error of the clock; it is measured.

mod requests;
mod sockets;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use crate::answer::Answer;
use crate::arrivals::Arrivals;
use crate::clock::{self, Ns, SECOND};
use crate::connection::{Connection, Exchange};
use crate::fault::Fault;
use crate::measure::{Measure, Outcome, Rows};
use crate::poller::Poller;
use crate::request::Requests;

/// So much is read at once, from whichever socket.
const BUFFER: usize = 128 << 10;
/// So many sockets are read between two looks.
const STRIDE: usize = 32;
/// So many requests are started between two looks at the sockets.
const STARTS: usize = 8;

/// So long a wait is, at most, before it is seen that the load is to end.
const ATTENTION: Ns = SECOND / 20;

/// Everything that outlives one part of a load: sockets, and what is read into.
pub(crate) struct Engine {
    poller: Poller,
    addresses: Vec<SocketAddr>,
    requests: Requests,
    timeout: Ns,
    /// Raised where the load is to end before its time.
    stop: Arc<AtomicBool>,
    /// No more connections than this at a time.
    most: usize,
    slots: Vec<Slot>,
    free: Vec<usize>,
    idle: Vec<usize>,
    busy: usize,
    /// Sockets at which something happened and that wait to be read.
    told: VecDeque<u64>,
    /// When requests are over at the latest, in the order of their starts.
    deadlines: VecDeque<(Ns, u64)>,
    buffer: Vec<u8>,
    number: u64,
}

/// A place for a connection; its generation tells late news of one that is gone from news of the next.
#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Connection>,
    /// What happened there and when that was seen first, as long as it waits to be read.
    told: Option<(EventFlags, Ns)>,
}

/// What is measured while the loop runs.
pub(crate) struct Part<'a> {
    pub(crate) arrivals: Arrivals,
    pub(crate) measure: &'a mut Measure,
    pub(crate) rows: &'a mut Rows,
}

impl Engine {
    pub(crate) fn new(
        addresses: Vec<SocketAddr>,
        requests: Requests,
        timeout: Ns,
        most: usize,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Errno> {
        Ok(Self {
            poller: Poller::new()?,
            addresses,
            requests,
            timeout,
            stop: Arc::clone(stop),
            most,
            slots: Vec::new(),
            free: Vec::new(),
            idle: Vec::new(),
            busy: 0,
            told: VecDeque::new(),
            deadlines: VecDeque::new(),
            buffer: vec![0; BUFFER],
            number: 0,
        })
    }

    /// Whether usage is still asked for: a server that refuses the wish is not asked again.
    pub(crate) fn asks_usage(&self) -> bool {
        self.requests.asks_usage
    }

    /// How often each prompt was asked on average; `None` where no two are alike.
    pub(crate) fn repeats(&self) -> Option<f64> {
        self.requests.different().map(|different| self.number as f64 / different as f64)
    }

    /// Runs one part of a load until its last request is over, or it is to stop; after that nothing more can be run. `look` is called now and then.
    pub(crate) fn run(&mut self, part: &mut Part<'_>, mut look: impl FnMut(&Measure, Ns)) -> Result<(), Errno> {
        let mut happened = Vec::new();
        loop {
            let now = clock::now();
            if self.stop.load(Ordering::Relaxed) {
                part.measure.unfinished = self.busy as u64;
                part.measure.cut = true;
                return Ok(());
            }
            self.start_due(part, now)?;
            self.end_late(part, now);
            let next = part.arrivals.next();
            if self.busy == 0 && next.is_none() {
                return Ok(());
            }
            look(part.measure, now);
            let next = next.filter(|_| self.busy < self.most).unwrap_or(Ns::MAX);
            let deadline = self.deadlines.front().map_or(Ns::MAX, |(deadline, _)| *deadline);
            let until = next.min(deadline).min(now.saturating_add(ATTENTION));
            self.poller.wait(if self.told.is_empty() { until } else { 0 }, &mut happened)?;
            let at = clock::now();
            for event in &happened {
                self.tell(event.key, event.flags, at);
            }
            if self.told.is_empty() {
                continue;
            }
            for _ in 0..STRIDE {
                let Some(key) = self.told.pop_front() else { break };
                self.happened(part, key)?;
            }
            part.measure.round.record(clock::now().saturating_sub(at));
        }
    }

    /// Puts a socket at which something happened at the end of those that wait to be read; the first time stamp stays.
    fn tell(&mut self, key: u64, flags: EventFlags, at: Ns) {
        let Some(index) = self.index_of(key) else { return };
        let slot = &mut self.slots[index];
        match &mut slot.told {
            Some((told, _)) => *told |= flags,
            None => {
                slot.told = Some((flags, at));
                self.told.push_back(key);
            }
        }
    }

    /// Starts what is due, a few at a time: a thousand that are due at once must not keep those waiting that are answered already.
    fn start_due(&mut self, part: &mut Part<'_>, now: Ns) -> Result<(), Errno> {
        for _ in 0..STARTS {
            if self.busy >= self.most {
                break;
            }
            let Some(intended) = part.arrivals.take(now) else { break };
            let number = self.number;
            self.number += 1;
            let asks_usage = self.requests.asks_usage;
            let bytes = self.requests.bytes(number);
            // What it takes to write a long prompt is the client's own lag, too.
            let started = clock::now();
            part.measure.started(intended, started);
            let exchange = Exchange {
                number,
                intended,
                started,
                connect: None,
                asks_usage,
                again: false,
                bytes,
                written: 0,
                answer: Answer::default(),
            };
            self.busy += 1;
            self.send(part, Box::new(exchange))?;
        }
        Ok(())
    }

    /// Closes a connection and hands back the request that was on it.
    fn close(&mut self, index: usize) -> Option<Box<Exchange>> {
        let slot = &mut self.slots[index];
        let connection = slot.connection.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        slot.told = None;
        self.free.push(index);
        connection.exchange
    }

    /// The connection of a key, where it is still the same.
    fn index_of(&self, key: u64) -> Option<usize> {
        let index = usize::try_from(key & u64::from(u32::MAX)).ok()?;
        let slot = self.slots.get(index)?;
        (u64::from(slot.generation) == key >> 32 && slot.connection.is_some()).then_some(index)
    }

    /// Ends requests whose time is over.
    fn end_late(&mut self, part: &mut Part<'_>, now: Ns) {
        while let Some(&(deadline, key)) = self.deadlines.front() {
            let index = self.index_of(key);
            let exchange = index.and_then(|index| self.slots[index].connection.as_ref()?.exchange.as_ref());
            // A connection may be on its next request already.
            let is_of_this = exchange.is_some_and(|exchange| exchange.started.saturating_add(self.timeout) == deadline);
            if is_of_this && deadline > now {
                return;
            }
            self.deadlines.pop_front();
            if is_of_this && let Some(mut exchange) = index.and_then(|index| self.close(index)) {
                let result = exchange.answer.time_out();
                self.over(part, *exchange, now, result);
            }
        }
    }

    fn over(&mut self, part: &mut Part<'_>, exchange: Exchange, at: Ns, result: Result<(), Fault>) {
        self.busy -= 1;
        part.arrivals.ended(at, result.is_err());
        let Exchange { number, intended, started, connect, answer, .. } = exchange;
        let outcome = Outcome { number, intended, started, connect, end: at, seen: answer.into_seen(), result };
        part.measure.ended(outcome, part.rows);
    }
}

fn key(index: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | index as u64
}
