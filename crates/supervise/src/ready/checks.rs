//! The conditions of one trial, and one look at those that cost little: lines, the program's word, a file, ports and HTTP addresses.

use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bystander_model::ids::TimeNs;
use bystander_model::plain;
use regex::bytes::Regex;
use ureq::Agent;

use super::address::HttpTarget;
use super::file::FileWatch;
use super::generate::Server;
use super::http::{self, Wanted};
use super::notify::{Socket, Word};
use super::owner::{self, Look, Own};
use super::proof::{FileSeen, HttpAnswer, Notified};
use super::{CommandCheck, DEFAULT_STABLE, ReadySpec, ReadySpecError};
use crate::clock::Clock;
use crate::listener::{self, Holder};
use crate::output::{self, Line};
use crate::procfs;

/// Which process is to be ready, and by which clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) keeper: u32,
    pub(crate) pid: u32,
    pub(crate) start_time: u64,
    pub(crate) clock: Clock,
}

impl Subject {
    /// Whether the program itself has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        procfs::stat(self.pid).is_some_and(|stat| stat.start_time == self.start_time && !stat.is_dead())
    }
}

/// The conditions of one trial, made before its launch.
#[derive(Debug)]
pub(crate) struct Checks {
    lines: Lines,
    http: Vec<(HttpTarget, Wanted)>,
    port: Option<u16>,
    file: Option<FileWatch>,
    notify: Option<Word>,
    pub(crate) command: Option<CommandCheck>,
    pub(crate) server: Option<Server>,
    pub(crate) stable: Duration,
    /// Looks that have ended.
    pub(crate) looks: AtomicU64,
    /// Whether a command runs now, or a completion was asked for.
    pub(crate) asks_costly: AtomicBool,
}

/// The cheap conditions, all held at one look.
#[derive(Debug)]
pub(crate) struct Held {
    /// When the last of them was found to hold.
    pub(crate) since: TimeNs,
    pub(crate) logs: Vec<Line>,
    pub(crate) listener: Option<Holder>,
    pub(crate) http: Vec<HttpAnswer>,
    pub(crate) file: Option<FileSeen>,
    pub(crate) notified: Option<Notified>,
}

/// Some condition does not hold.
#[derive(Debug)]
pub(crate) struct Missing {
    pub(crate) why: String,
    /// Whether a server was asked and did not answer well: it is not asked again at once.
    pub(crate) asked: bool,
}

/// What looks remember between each other.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) agent: Agent,
    /// Whether somebody was asked who said nothing, at any look.
    pub(crate) silent: bool,
    /// Sockets of others at the last look.
    pub(crate) strangers: Vec<listener::Socket>,
    /// Answers that came while something else was missing, and when: nobody is asked twice for them before the rest holds.
    answers: Option<(TimeNs, Vec<HttpAnswer>)>,
    /// Since when the tree listens as it should, and since when the file is there: in every look since.
    listens: Lasting,
    filed: Lasting,
    /// When the tree listened first, and when every address answered well first.
    pub(crate) port_ns: Option<TimeNs>,
    pub(crate) health_ns: Option<TimeNs>,
}

/// Since when something holds that is only seen by looking.
#[derive(Debug)]
struct Lasting(Option<TimeNs>);

impl Lasting {
    /// Takes what a look has shown; gives since when it holds, where it does.
    fn look(&mut self, holds: bool, now: TimeNs) -> Option<TimeNs> {
        if !holds {
            self.0 = None;
            return None;
        }
        Some(*self.0.get_or_insert(now))
    }
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            agent: http::agent(),
            silent: false,
            strangers: Vec::new(),
            answers: None,
            listens: Lasting(None),
            filed: Lasting(None),
            port_ns: None,
            health_ns: None,
        }
    }

    /// Everything is to be asked again.
    pub(crate) fn forget(&mut self) {
        self.answers = None;
    }
}

impl Checks {
    /// Takes the conditions, and looks at what was there before the launch. A socket for the program's word is given back beside them.
    pub(crate) fn prepare(spec: ReadySpec, cwd: &Path) -> Result<(Self, Option<Socket>), ReadySpecError> {
        let ReadySpec { logs, http, port, file, notify, command, generates, stable } = spec;
        let parsed = |check: super::HttpCheck| Ok((HttpTarget::parse(&check.url)?, Wanted { status: check.status, body: check.body }));
        let http = http.into_iter().map(parsed).collect::<Result<_, ReadySpecError>>()?;
        let server = generates.as_ref().map(Server::of).transpose()?;
        let socket = notify.as_deref().map(Socket::bind).transpose().map_err(ReadySpecError::Notify)?;
        let checks = Self {
            lines: Lines::new(logs),
            http,
            port,
            file: file.map(|file| FileWatch::before(cwd.join(file))),
            notify: socket.as_ref().map(|_| Word::default()),
            command,
            server,
            stable: stable.unwrap_or(DEFAULT_STABLE),
            looks: AtomicU64::new(0),
            asks_costly: AtomicBool::new(false),
        };
        Ok((checks, socket))
    }

    /// What the program has said by itself, where that is asked.
    pub(crate) fn word(&self) -> Option<&Word> {
        self.notify.as_ref()
    }

    /// Takes one line of output.
    pub(crate) fn line(&self, line: &Line) {
        self.lines.take(|pattern| plain::any(&line.text, |text| pattern.is_match(text)).then(|| line.clone()));
    }

    /// Takes several lines of output.
    pub(crate) fn lines(&self, lines: &output::Lines) {
        self.lines.take(|pattern| lines.find(|line| plain::any(line, |text| pattern.is_match(text))));
    }

    /// When the last pattern matched, where lines are all that is asked.
    pub(crate) fn said_by_lines_alone(&self) -> Option<TimeNs> {
        let Self { lines: _, http, port, file, notify, command, server, stable: _, looks: _, asks_costly: _ } = self;
        let alone = http.is_empty() && port.is_none() && file.is_none() && notify.is_none() && command.is_none() && server.is_none();
        self.said().filter(|_| alone && !self.lines.patterns.is_empty())
    }

    /// When the last pattern matched, where every one has; the beginning of time where none is asked.
    pub(crate) fn said(&self) -> Option<TimeNs> {
        let lines = self.lines.look().ok()?;
        Some(lines.iter().map(|line| line.time_ns).max().unwrap_or(TimeNs(0)))
    }

    /// Looks at everything that costs little. Where `fresh`, nothing is taken from an earlier look.
    pub(crate) fn look(&self, subject: &Subject, memory: &mut Memory, fresh: bool) -> Result<Held, Missing> {
        memory.strangers.clear();
        let (mut missing, mut asked): (Vec<String>, bool) = (Vec::new(), false);
        let (mut listener, mut since) = (None, TimeNs(0));
        let mut at = |found: TimeNs| since = since.max(found);
        if let Some(port) = self.port {
            match self.own(port, None, subject, memory) {
                Ok(own) => listener = Some(own.holder),
                Err(why) => missing.push(why),
            }
        }
        if let Some(server) = &self.server {
            match self.own(server.target.port, Some(&server.target), subject, memory) {
                Ok(own) => listener = listener.or(Some(own.holder)),
                Err(why) => missing.push(why),
            }
        }
        let unheld = !missing.is_empty();
        let http = self.ask_all(subject, memory, fresh, &mut asked).map_err(|why| missing.push(why)).ok();
        let file = self.file.as_ref().map(FileWatch::look).transpose().map_err(|why| missing.push(why)).ok().flatten();
        // What is only seen by looking holds from the look on; what comes by itself has its own time.
        let now = subject.clock.now();
        at(memory.listens.look(listener.is_some() && !unheld, now).unwrap_or(TimeNs(0)));
        at(memory.filed.look(file.is_some(), now).unwrap_or(TimeNs(0)));
        at(memory.answers.as_ref().filter(|_| !self.http.is_empty()).map_or(TimeNs(0), |(time, _)| *time));
        let notified = self.notify.as_ref().map(Word::look).transpose().map_err(|why| missing.push(why)).ok().flatten();
        at(notified.as_ref().map_or(TimeNs(0), |said| said.time_ns));
        let logs = self.lines.look().map_err(|why| missing.push(why)).unwrap_or_default();
        at(logs.iter().map(|line| line.time_ns).max().unwrap_or(TimeNs(0)));
        match http {
            Some(http) if missing.is_empty() => {
                let listener = listener.or_else(|| http.first().map(|answer| answer.listener.clone()));
                Ok(Held { since, logs, listener, http, file, notified })
            }
            _ => Err(Missing { why: missing.join(", and "), asked }),
        }
    }

    fn ask_all(&self, subject: &Subject, memory: &mut Memory, fresh: bool, asked: &mut bool) -> Result<Vec<HttpAnswer>, String> {
        if let Some((_, answers)) = memory.answers.as_ref().filter(|_| !fresh) {
            return Ok(answers.clone());
        }
        let mut answers = Vec::new();
        for (target, wanted) in &self.http {
            let own = self.own(target.port, Some(target), subject, memory)?;
            *asked = true;
            let answer = http::get(&memory.agent, &target.url, wanted.body.is_some()).inspect_err(|error| memory.silent |= error.silent)?;
            let matched = wanted.holds(&target.url, &answer)?;
            self.confirm(target, &own, subject, memory)?;
            answers.push(HttpAnswer { url: target.url.clone(), status: answer.status, matched, listener: own.holder });
        }
        let now = subject.clock.now();
        if !answers.is_empty() {
            memory.health_ns.get_or_insert(now);
        }
        memory.answers = Some((now, answers.clone()));
        Ok(answers)
    }

    /// Makes sure that the tree alone listens on a port, at the addresses of a target where one is asked; a stranger is remembered.
    pub(crate) fn own(&self, port: u16, target: Option<&HttpTarget>, subject: &Subject, memory: &mut Memory) -> Result<Own, String> {
        match owner::look(port, target.map_or(&[], |target| target.addresses.as_slice()), subject.keeper) {
            Look::Own(own) => {
                memory.port_ns.get_or_insert_with(|| subject.clock.now());
                Ok(own)
            }
            Look::Nobody => Err(format!("no process of the trial listens on port {port}")),
            Look::Elsewhere(at) => Err(listens_elsewhere(port, &at, target)),
            Look::Foreign { socket, shared, elsewhere } => {
                memory.strangers.push(socket);
                Err(match (shared, elsewhere.as_slice()) {
                    (true, _) => format!("somebody else listens on port {port} too, and may get the connections"),
                    (false, []) => format!("no process of the trial listens on port {port}, but somebody else does"),
                    (false, at) => format!("{}; somebody else listens there", listens_elsewhere(port, at, target)),
                })
            }
        }
    }

    /// Makes sure that an answer came from where the question was meant to go.
    pub(crate) fn confirm(&self, target: &HttpTarget, before: &Own, subject: &Subject, memory: &mut Memory) -> Result<(), String> {
        let after = self.own(target.port, Some(target), subject, memory)?;
        if after.is_same(before) {
            Ok(())
        } else {
            Err(format!("the sockets at port {} changed while {} was asked", target.port, target.url))
        }
    }
}

/// That the trial listens on a port, and not where it is asked.
fn listens_elsewhere(port: u16, at: &[IpAddr], target: Option<&HttpTarget>) -> String {
    let listed = |all: &[IpAddr]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
    let asked = target.map_or_else(String::new, |target| format!(", and not at {}", target.place(&listed(&target.addresses))));
    format!("a process of the trial listens on port {port} at {}{asked}", listed(at))
}

/// The patterns and the line that each of them matched first; the owner of the trial writes, the thread of readiness reads.
#[derive(Debug)]
struct Lines {
    patterns: Vec<Regex>,
    seen: Mutex<Vec<Option<Line>>>,
}

impl Lines {
    fn new(patterns: Vec<Regex>) -> Self {
        let seen = Mutex::new(vec![None; patterns.len()]);
        Self { patterns, seen }
    }

    /// Looks for what was not seen yet.
    fn take(&self, find: impl Fn(&Regex) -> Option<Line>) {
        if self.patterns.is_empty() {
            return;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (pattern, seen) in self.patterns.iter().zip(seen.iter_mut()).filter(|(_, seen)| seen.is_none()) {
            *seen = find(pattern);
        }
    }

    /// The line of each pattern; else which have none.
    fn look(&self) -> Result<Vec<Line>, String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<String> =
            self.patterns.iter().zip(seen.iter()).filter(|(_, seen)| seen.is_none()).map(|(pattern, _)| format!("`{pattern}`")).collect();
        match (missing.len(), self.patterns.len()) {
            (0, _) => Ok(seen.iter().flatten().cloned().collect()),
            (_, 1) => Err("no line has matched the `log` pattern".to_owned()),
            _ => Err(format!("no line has matched the `log` pattern {}", missing.join(" nor "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bystander_model::evidence::Stream;
    use bystander_model::ids::TimeNs;
    use regex::bytes::Regex;

    use super::{Checks, ReadySpec};
    use crate::output::{Line, Lines};

    fn is_ready(text: &str) -> [bool; 2] {
        let checks = || {
            let logs = vec![Regex::new("^ready to roll$").expect("a pattern")];
            Checks::prepare(ReadySpec { logs, ..ReadySpec::default() }, Path::new("/")).expect("can be checked").0
        };
        let (stream, time_ns, bytes) = (Stream::Stdout, TimeNs(7), text.as_bytes().to_vec());
        let length = bytes.len() as u64;
        let (alone, among) = (checks(), checks());
        alone.line(&Line { stream, number: 1, offset: 0, time_ns, text: bytes, length, terminated: true });
        let text = format!("loading\n{text}\n").into_bytes();
        among.lines(&Lines { stream, first: 1, count: 2, offset: 0, time_ns, text });
        [alone, among].map(|checks| checks.said() == Some(TimeNs(7)))
    }

    #[test]
    fn a_line_is_what_a_person_reads_whatever_colours_it_has_and_however_it_ends() {
        for text in [
            "ready to roll",
            "ready to roll\r",
            "\x1b[32mready\x1b[0m to roll",
            "loading 50%\rready to roll\r",
            "\x1b[1mready to roll\x1b[m\r",
        ] {
            assert_eq!(is_ready(text), [true, true], "{text:?}");
        }
        for text in ["not ready to roll", "ready to roll 2", "ready\rto roll"] {
            assert_eq!(is_ready(text), [false, false], "{text:?}");
        }
    }
}
