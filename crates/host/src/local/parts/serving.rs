//! Who serves: the processes that were there when a program was ready, and of whom one may die under its workload.
//!
//! How a process ended is known only until its parent asks, which may be at once. A process that is gone has died where a traceback, or the words of a
//! crash, came at the same time; otherwise it may have ended as it was meant to, and nothing is said of it.

use std::time::{Duration, Instant};

use bystander_lab::cause::{Scanner, signal_name};
use bystander_model::evidence::Stream;
use bystander_supervise::tree::{Life, ProcessInfo, life};
use bystander_supervise::trial::Trial;

use super::is_by;

/// How long words and the end of a process may be apart to belong together.
const TOGETHER: Duration = Duration::from_secs(2);
/// How often the processes are looked at.
const LOOKS: Duration = Duration::from_millis(50);

/// Who was there when a program was ready.
#[derive(Debug)]
pub(super) struct Serving {
    processes: Vec<ProcessInfo>,
    /// Who is gone, and nobody knows how.
    gone: Vec<(ProcessInfo, Instant)>,
    looked: Instant,
    words: Words,
}

/// What was said of a death since it was ready.
#[derive(Debug)]
struct Words {
    known: Option<(Stream, u64)>,
    knew_crash: bool,
    traceback: Option<(Said, Instant)>,
    crash: Option<Instant>,
}

/// A traceback that came after it was ready.
#[derive(Debug, Clone)]
struct Said {
    at: (Stream, u64),
    by: Option<String>,
    /// As Python itself prints it, of no thread: a logger prints what was caught.
    is_bare: bool,
}

/// A process that has died.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) process: ProcessInfo,
    pub(super) how: String,
    pub(super) traceback: Option<(Stream, u64)>,
}

impl Serving {
    pub(super) fn of(trial: &Trial, scanner: &Scanner) -> Self {
        let main = trial.pid();
        let processes = trial.processes().into_iter().filter(|process| process.pid != main).collect();
        let known = scanner.latest_traceback().map(|latest| (latest.stream, latest.first_line));
        let words = Words { known, knew_crash: scanner.has_crash(), traceback: None, crash: None };
        Self { processes, gone: Vec::new(), looked: Instant::now(), words }
    }

    /// One of those who served that has died.
    pub(super) fn lost(&mut self, scanner: &Scanner) -> Option<Lost> {
        self.words.read(scanner);
        if self.looked.elapsed() < LOOKS && self.words.are_old() {
            return None;
        }
        self.looked = Instant::now();
        let mut found = None;
        let (words, gone) = (&self.words, &mut self.gone);
        self.processes.retain(|process| match life(process) {
            Life::Lives => true,
            Life::Gone => {
                gone.push((process.clone(), Instant::now()));
                false
            }
            Life::Ended { code, signal } => {
                found = found.take().or_else(|| words.of_ended(process, code, signal));
                false
            }
        });
        found.or_else(|| self.gone.iter().find_map(|(process, since)| self.words.of_gone(process, *since)))
    }
}

impl Words {
    fn read(&mut self, scanner: &Scanner) {
        if let Some(latest) = scanner.latest_traceback()
            && self.known != Some((latest.stream, latest.first_line))
        {
            self.known = Some((latest.stream, latest.first_line));
            let is_bare = latest.bare && !latest.rank.as_deref().is_some_and(|rank| rank.starts_with("thread "));
            let said = Said { at: (latest.stream, latest.first_line), by: latest.rank.clone(), is_bare };
            self.traceback = Some((said, Instant::now()));
        }
        if scanner.has_crash() && !self.knew_crash {
            self.crash.get_or_insert_with(Instant::now);
        }
    }

    /// Whether nothing was said for so long that no end belongs to it.
    fn are_old(&self) -> bool {
        let is_old = |since: Instant| since.elapsed() > TOGETHER;
        self.traceback.as_ref().is_none_or(|(_, since)| is_old(*since)) && self.crash.is_none_or(is_old)
    }

    fn of_ended(&self, process: &ProcessInfo, code: i32, signal: i32) -> Option<Lost> {
        let lost = |how: String, traceback| Some(Lost { process: process.clone(), how, traceback });
        // Who is asked to end is asked by SIGTERM.
        if matches!(signal, 4 | 6 | 7 | 8 | 9 | 11) {
            return lost(format!("was ended by {}", signal_name(signal)), None);
        }
        let (said, _) = self.traceback.as_ref().filter(|(said, since)| said.is_of(process.pid) && since.elapsed() <= TOGETHER)?;
        (code != 0 && signal == 0).then_some(())?;
        lost(format!("ended with exit code {code}"), Some(said.at))
    }

    fn of_gone(&self, process: &ProcessInfo, since: Instant) -> Option<Lost> {
        let near = |at: Instant| at.max(since).duration_since(at.min(since)) <= TOGETHER;
        let traceback = self.traceback.as_ref().filter(|(said, at)| near(*at) && said.is_of(process.pid)).map(|(said, _)| said.at);
        let died = traceback.is_some() || self.crash.is_some_and(near);
        died.then(|| Lost { process: process.clone(), how: "was gone as soon as that was printed".to_owned(), traceback })
    }
}

impl Said {
    /// Whether it may be of a process: it names it, or names none.
    fn is_of(&self, pid: u32) -> bool {
        match &self.by {
            Some(by) if by.contains("pid=") => is_by(by, pid),
            _ => self.is_bare,
        }
    }
}
