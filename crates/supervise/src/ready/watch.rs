//! The thread that looks at ports and asks the HTTP address until the program is ready or over.
//!
//! It asks an address only after it has seen that a process of the tree listens there.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use ureq::Agent;

use super::{Health, HttpAnswer, HttpTarget, Targets};
use crate::clock::Clock;
use crate::listener::{Holder, Socket, candidates, holder, holder_of, sockets, split_by_tree};
use crate::procfs;
use crate::trial::note::Note;
use crate::trial::pump::Flags;

/// Between two looks, while a program is young.
const SHORT_PAUSE: Duration = Duration::from_millis(10);
/// Between two looks later.
const PAUSE: Duration = Duration::from_millis(20);
/// Up to this age a program is young.
const YOUNG: Duration = Duration::from_secs(2);
/// Between two requests to a server that answers and is not ready yet, at most: each can be a line in its log.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long an address may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// How long an address may take to answer; some health checks do real work.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

pub(crate) struct Watch {
    pub(crate) targets: Targets,
    pub(crate) keeper: u32,
    pub(crate) flags: Arc<Flags>,
    pub(crate) notes: Sender<Note>,
    pub(crate) clock: Clock,
}

/// What one look at all targets showed.
enum Check {
    /// They are as they should be.
    Healthy(Health),
    /// The tree's server was asked, and did not answer well.
    Unwell(String),
    /// Nobody was asked.
    NotYet(String),
}

/// What one look at one port showed.
enum Look {
    /// Nobody listens, or it is not clear yet who does.
    NotYet,
    /// The tree listens, by this process.
    Own(Holder),
    /// Somebody else does.
    Foreign(Socket),
}

impl Watch {
    /// Looks until all targets are as they should be, or the program is over.
    pub(crate) fn run(self) {
        let agent = agent();
        let started = Instant::now();
        // A process that was born during the look can be missed: a stranger has to be seen twice.
        let mut suspects = BTreeSet::new();
        let mut reported = BTreeSet::new();
        let mut patience = SHORT_PAUSE;
        let mut said = None;
        while !self.flags.over.load(Ordering::SeqCst) {
            let mut strangers = Vec::new();
            let check = self.check(&agent, &mut strangers);
            if let Check::Unwell(why) | Check::NotYet(why) = &check
                && said.as_ref() != Some(why)
            {
                said = Some(why.clone());
                // A trial that is over has nobody to tell.
                let _ = self.notes.send(Note::Unready(why.clone()));
            }
            let pause = match check {
                Check::Healthy(health) => {
                    // It is the answer of a program that has ended meanwhile, otherwise.
                    if !self.flags.over.load(Ordering::SeqCst) {
                        let _ = self.notes.send(Note::Healthy(health));
                    }
                    return;
                }
                Check::Unwell(_) => {
                    patience = (patience * 2).min(LONGEST_PAUSE);
                    patience
                }
                Check::NotYet(_) if started.elapsed() < YOUNG => SHORT_PAUSE,
                Check::NotYet(_) => PAUSE,
            };
            for socket in &strangers {
                if suspects.contains(&socket.inode) && reported.insert(socket.inode) {
                    self.report(*socket);
                }
            }
            suspects = strangers.iter().map(|socket| socket.inode).collect();
            thread::park_timeout(pause);
        }
    }

    /// Whether all targets are healthy now, with the proof.
    fn check(&self, agent: &Agent, strangers: &mut Vec<Socket>) -> Check {
        let mut listener = None;
        if let Some(port) = self.targets.port {
            listener = own(self.look(port, &[]), strangers);
            if listener.is_none() {
                return Check::NotYet(nobody(port));
            }
        }
        let mut http = None;
        if let Some(target) = &self.targets.http {
            let Some(holder) = own(self.look(target.port, &target.addresses), strangers) else {
                return Check::NotYet(nobody(target.port));
            };
            match ask(agent, target) {
                Ok(answer) => http = Some(answer),
                Err(why) => return Check::Unwell(why),
            }
            listener = listener.or(Some(holder));
        }
        Check::Healthy(Health { time_ns: self.clock.now(), listener, http })
    }

    /// Looks who listens on a port, at these addresses or at any.
    fn look(&self, port: u16, addresses: &[IpAddr]) -> Look {
        let all = sockets(port);
        if all.is_empty() {
            return Look::NotYet;
        }
        let wanted = if addresses.is_empty() { all } else { addresses.iter().flat_map(|&address| candidates(&all, address)).collect() };
        let (own, foreign) = split_by_tree(&wanted, self.keeper);
        match (own.first(), foreign.first()) {
            // At an address to be asked every listener must be ours: the kernel may hand the connection to any of them.
            (Some(&(socket, pid)), None) => Look::Own(holder(socket, Some(pid))),
            (Some(&(socket, pid)), Some(_)) if addresses.is_empty() => Look::Own(holder(socket, Some(pid))),
            (_, Some(&socket)) => Look::Foreign(socket),
            (None, None) => Look::NotYet,
        }
    }

    /// Tells whose socket it is, unless a second look finds that it is the tree's after all.
    fn report(&self, socket: Socket) {
        let pid = holder_of(socket.inode, procfs::all_pids());
        if !pid.is_some_and(|pid| procfs::descends_from(pid, self.keeper)) && sockets(socket.port).contains(&socket) {
            let _ = self.notes.send(Note::Foreign(holder(socket, pid)));
        }
    }
}

fn own(look: Look, strangers: &mut Vec<Socket>) -> Option<Holder> {
    match look {
        Look::Own(holder) => Some(holder),
        Look::Foreign(socket) => {
            strangers.push(socket);
            None
        }
        Look::NotYet => None,
    }
}

/// A client that takes the answer as it comes: no redirects, no proxy, no connection kept.
fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .max_idle_connections(0)
        .timeout_connect(Some(CONNECT_LIMIT))
        .timeout_global(Some(ANSWER_LIMIT))
        .user_agent("bystander")
        .build()
        .into()
}

fn nobody(port: u16) -> String {
    format!("no process of the trial listens on port {port}")
}

/// Asks once; whatever goes wrong only means: not yet, and why.
fn ask(agent: &Agent, target: &HttpTarget) -> Result<HttpAnswer, String> {
    let url = &target.url;
    let answer = agent.get(url).header("Connection", "close").call().map_err(|error| format!("{url} gave no answer ({error})"))?;
    match answer.status().as_u16() {
        status @ 200..=399 => Ok(HttpAnswer { url: url.clone(), status }),
        status => Err(format!("{url} answered {status}")),
    }
}
