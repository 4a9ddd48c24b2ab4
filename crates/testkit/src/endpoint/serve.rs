//! The loop of the server: accepts, reads requests, plays scripts, each at its own pace.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, sockopt};
use rustix::time::{ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create, timerfd_settime};

use super::wire::{chunked, piece};
use super::{Asked, Script, Served, Step};

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;
/// So much may wait to be taken on one connection.
const WAITING: usize = 1 << 20;

pub(super) struct Server {
    listener: TcpListener,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// Kept open for as long as it is watched.
    _watched: OwnedFd,
    script: Script,
    served: Arc<Mutex<Vec<Served>>>,
    clients: Vec<Option<Client>>,
    free: Vec<usize>,
    due: BinaryHeap<Reverse<(u64, u64)>>,
    asked: u64,
    pieces: Arc<[Vec<u8>; 2]>,
    serial: u64,
}

struct Client {
    socket: OwnedFd,
    /// Tells this client from an earlier one in the same place.
    serial: u64,
    input: Vec<u8>,
    output: VecDeque<u8>,
    steps: VecDeque<Step>,
    /// When the next step is due.
    wakes: u64,
    served: Option<Served>,
    blocked: bool,
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

fn span(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Server {
    pub(super) fn new(listener: TcpListener, watched: OwnedFd, script: Script, served: Arc<Mutex<Vec<Served>>>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &watched, EventData::new_u64(STOP), EventFlags::IN)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        let pieces = Arc::new([false, true].map(|chat| chunked(piece(chat))));
        let (clients, free, due) = (Vec::new(), Vec::new(), BinaryHeap::new());
        Ok(Self { listener, epoll, timer, _watched: watched, script, served, clients, free, due, asked: 0, pieces, serial: 0 })
    }

    pub(super) fn run(&mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(1024);
        loop {
            self.wake();
            let timeout = self.arm();
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => panic!("wait for sockets: {errno}"),
            }
            for event in &events {
                match event.data.u64() {
                    STOP => return,
                    LISTENER => self.accept(),
                    TIMER => {}
                    key => self.happened(key, event.flags),
                }
            }
        }
    }

    /// Sets the timer to the next step that is due; a step that is due now is not waited for.
    fn arm(&self) -> Option<Timespec> {
        let Reverse((next, _)) = self.due.peek()?;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let after = next.saturating_sub(now());
        if after == 0 {
            return Some(zero);
        }
        let value = Timespec { tv_sec: (after / 1_000_000_000) as _, tv_nsec: (after % 1_000_000_000) as _ };
        let spec = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec).expect("a timer");
        None
    }

    fn wake(&mut self) {
        let at = now();
        while let Some(Reverse((due, key))) = self.due.peek().copied()
            && due <= at
        {
            self.due.pop();
            let waits = self.client(key).is_some_and(|client| client.wakes == due);
            if waits {
                self.play(key);
            }
        }
    }

    fn client(&mut self, key: u64) -> Option<&mut Client> {
        let place = usize::try_from(key & 0xFFFF_FFFF).ok()?;
        self.clients.get_mut(place)?.as_mut().filter(|client| client.serial & 0xFFFF_FFFF == key >> 32)
    }

    fn accept(&mut self) {
        while let Ok(socket) = rustix::net::accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            sockopt::set_tcp_nodelay(&socket, true).expect("an option of a socket");
            let place = self.free.pop().unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() - 1
            });
            self.serial = (self.serial + 1) & 0x7FFF_FFFF;
            let key = self.serial << 32 | place as u64;
            epoll::add(&self.epoll, &socket, EventData::new_u64(key), EventFlags::IN | EventFlags::RDHUP).expect("a watched socket");
            self.clients[place] = Some(Client {
                socket,
                serial: self.serial,
                input: Vec::new(),
                output: VecDeque::new(),
                steps: VecDeque::new(),
                wakes: u64::MAX,
                served: None,
                blocked: false,
            });
        }
    }

    fn close(&mut self, key: u64) {
        let place = usize::try_from(key & 0xFFFF_FFFF).expect("a place");
        self.clients[place] = None;
        self.free.push(place);
    }

    fn happened(&mut self, key: u64, flags: EventFlags) {
        if self.client(key).is_none() {
            return;
        }
        if flags.contains(EventFlags::OUT) {
            self.play(key);
        }
        if flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
            self.read(key);
        }
    }

    fn read(&mut self, key: u64) {
        let mut buffer = [0_u8; 65_536];
        let Some(client) = self.client(key) else { return };
        match rustix::net::recv(&client.socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return self.close(key),
            Ok((length, _)) => client.input.extend_from_slice(&buffer[..length]),
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(_) => return self.close(key),
        }
        self.requests(key);
    }

    /// Takes every whole request that came.
    fn requests(&mut self, key: u64) {
        while let Some(client) = self.client(key) {
            let Some(end) = client.input.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else { return };
            let head = String::from_utf8_lossy(&client.input[..end]).into_owned();
            let length = head.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length: usize = length.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0);
            if client.input.len() < end + length {
                return;
            }
            let body: Vec<u8> = client.input.drain(..end + length).skip(end).collect();
            let asked = Asked { number: self.asked, head: &head, body: &body };
            self.asked += 1;
            let steps = (self.script)(&asked);
            let prompt = prompt_of(&body);
            if let Some(client) = self.client(key) {
                client.steps.extend(steps);
                client.served = Some(Served { prompt, first_ns: 0, last_ns: 0 });
            }
            self.play(key);
        }
    }

    /// Plays steps until one has to wait.
    fn play(&mut self, key: u64) {
        let pieces = Arc::clone(&self.pieces);
        loop {
            let at = now();
            let Some(client) = self.client(key) else { return };
            if !client.flush() {
                return self.close(key);
            }
            if client.output.len() > WAITING || (client.wakes > at && client.wakes != u64::MAX) {
                break;
            }
            client.wakes = u64::MAX;
            let Some(step) = client.steps.pop_front() else { break };
            match step {
                Step::Send(bytes) => client.output.extend(bytes),
                Step::Wait(time) => client.wakes = at + span(time),
                Step::Stream { pieces: left, pace, chat } => {
                    client.output.extend(&pieces[usize::from(chat)]);
                    if let Some(served) = &mut client.served {
                        served.first_ns = if served.first_ns == 0 { at } else { served.first_ns };
                        served.last_ns = at;
                    }
                    if left > 1 {
                        client.steps.push_front(Step::Stream { pieces: left - 1, pace, chat });
                        client.wakes = at + span(pace);
                    }
                }
                Step::Flood(bytes, left) => {
                    client.output.extend(&bytes);
                    if left > 1 {
                        client.steps.push_front(Step::Flood(bytes, left - 1));
                    }
                }
                Step::Close => return self.close(key),
                Step::Reset => {
                    sockopt::set_socket_linger(&client.socket, Some(Duration::ZERO)).expect("an option of a socket");
                    return self.close(key);
                }
            }
        }
        self.settle(key);
    }

    /// After playing: what is waited for now.
    fn settle(&mut self, key: u64) {
        let Some(client) = self.client(key) else { return };
        let (wakes, blocked) = (client.wakes, !client.output.is_empty());
        let over = client.steps.is_empty() && !blocked && wakes == u64::MAX;
        let served = if over { client.served.take() } else { None };
        if client.blocked != blocked {
            client.blocked = blocked;
            let flags = if blocked { EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP } else { EventFlags::IN | EventFlags::RDHUP };
            let place = usize::try_from(key & 0xFFFF_FFFF).expect("a place");
            let socket = &self.clients[place].as_ref().expect("a client").socket;
            epoll::modify(&self.epoll, socket, EventData::new_u64(key), flags).expect("a watched socket");
        }
        if wakes != u64::MAX {
            self.due.push(Reverse((wakes, key)));
        }
        if let Some(served) = served.filter(|served| served.first_ns > 0) {
            self.served.lock().expect("no test panicked with it").push(served);
        }
    }
}

impl Client {
    /// Writes what there is room for; `false` where the client is gone.
    fn flush(&mut self) -> bool {
        while !self.output.is_empty() {
            let (bytes, _) = self.output.as_slices();
            match rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(written) => drop(self.output.drain(..written)),
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

/// The prompt of a request, or the content of its first message.
fn prompt_of(body: &[u8]) -> String {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let prompt = body["prompt"].as_str().or_else(|| body["messages"][0]["content"].as_str());
    prompt.unwrap_or_default().to_owned()
}
