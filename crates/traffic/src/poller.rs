//! Waiting for sockets and for a time, in one call.

use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};

use crate::clock::{self, Ns, SECOND};

/// So many sockets are told of at once: one time stamp stands for all of them.
const ROUND: usize = 1024;
/// The key of the timer.
const TIMER: u64 = u64::MAX;

/// Waits for sockets and for a time. The timer is exact to the microsecond, where the time limit of a wait is exact to the millisecond.
pub(crate) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    armed: Ns,
    events: Vec<Event>,
}

/// A socket at which something happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Happened {
    pub(crate) key: u64,
    pub(crate) flags: EventFlags,
}

impl Poller {
    pub(crate) fn new() -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        Ok(Self { epoll, timer, armed: Ns::MAX, events: Vec::with_capacity(ROUND) })
    }

    pub(crate) fn add(&self, socket: impl AsFd, key: u64, flags: EventFlags) -> Result<(), Errno> {
        epoll::add(&self.epoll, socket, EventData::new_u64(key), flags)
    }

    /// Waits until something happens at a socket, or until a time, and puts into `happened` what it was.
    pub(crate) fn wait(&mut self, until: Ns, happened: &mut Vec<Happened>) -> Result<(), Errno> {
        happened.clear();
        let now = clock::now();
        if until <= now {
            self.collect(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }), happened)
        } else {
            self.arm(until, now)?;
            self.collect(None, happened)
        }
    }

    /// Sets the timer, where it does not go off in time anyway.
    fn arm(&mut self, until: Ns, now: Ns) -> Result<(), Errno> {
        if until == Ns::MAX || (self.armed > now && self.armed <= until) {
            return Ok(());
        }
        let after = until - now;
        let span = |ns: Ns| Timespec { tv_sec: i64::try_from(ns / SECOND).unwrap_or(i64::MAX), tv_nsec: (ns % SECOND) as _ };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: zero, it_value: span(after) })?;
        self.armed = until;
        Ok(())
    }

    fn collect(&mut self, limit: Option<&Timespec>, happened: &mut Vec<Happened>) -> Result<(), Errno> {
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), limit) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let sockets = self.events.iter().map(|event| Happened { key: event.data.u64(), flags: event.flags });
        happened.extend(sockets.filter(|event| event.key != TIMER));
        Ok(())
    }
}
