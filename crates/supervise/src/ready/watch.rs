//! The thread that finds out whether a program is ready: cheap conditions until all hold, then those that cost, then the cheap ones again for as long
//! as they must hold.
//!
//! It asks an address only after it has seen that the tree alone listens there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use bystander_model::ids::TimeNs;

use super::checks::{Checks, Held, Memory, Missing, Subject};
use super::command;
use super::generate::Server;
use super::owner;
use super::proof::{CommandSeen, Generation, Levels, Readiness};
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
/// Between two commands or completions that failed, at first and at most: they cost the program something.
const COSTLY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Between two looks at what must go on holding.
const STABLE_PAUSE: Duration = Duration::from_millis(500);

/// Something that costs is asked until this is dropped, where anything is asked.
struct Costly<'a>(&'a Checks);

impl<'a> Costly<'a> {
    fn begin(checks: &'a Checks) -> Self {
        checks.asks_costly.store(checks.command.is_some() || checks.server.is_some(), Ordering::SeqCst);
        Self(checks)
    }
}

impl Drop for Costly<'_> {
    fn drop(&mut self) {
        self.0.asks_costly.store(false, Ordering::SeqCst);
    }
}

pub(crate) struct Watch {
    checks: Arc<Checks>,
    subject: Subject,
    flags: Arc<Flags>,
    notes: Sender<Note>,
    memory: Memory,
    levels: Levels,
    /// What the owner was told last.
    said: Option<String>,
    /// A process that was born during the look can be missed: a stranger has to be seen twice.
    suspects: BTreeSet<u64>,
    reported: BTreeSet<u64>,
    command_runs: u32,
    /// Why the last run of the command, and the last completion that was asked for, did not end well: that stands while the next one runs.
    command_failed: Option<String>,
    generation_failed: Option<String>,
}

impl Watch {
    pub(crate) fn new(checks: Arc<Checks>, subject: Subject, flags: Arc<Flags>, notes: Sender<Note>) -> Self {
        Self {
            checks,
            subject,
            flags,
            notes,
            memory: Memory::new(),
            levels: Levels::default(),
            said: None,
            suspects: BTreeSet::new(),
            reported: BTreeSet::new(),
            command_runs: 0,
            command_failed: None,
            generation_failed: None,
        }
    }

    /// Looks until everything holds and has gone on holding, or the program is over.
    pub(crate) fn run(mut self) {
        let started = Instant::now();
        let mut patience = SHORT_PAUSE;
        let mut costly = COSTLY_PAUSES.0;
        while !self.is_over() {
            let pause = match self.look(false) {
                Ok(held) => match self.conclude(held.since) {
                    Ok(readiness) => {
                        // It is the proof of a program that has ended meanwhile, otherwise.
                        if !self.is_over() {
                            let _ = self.notes.send(Note::Ready(Box::new(readiness)));
                        }
                        return;
                    }
                    Err(why) => {
                        self.say(why);
                        self.memory.forget();
                        let pause = costly;
                        costly = (costly * 2).min(COSTLY_PAUSES.1);
                        pause
                    }
                },
                Err(missing) => {
                    self.say(missing.why);
                    if missing.asked {
                        patience = (patience * 2).min(LONGEST_PAUSE);
                        patience
                    } else if started.elapsed() < YOUNG {
                        SHORT_PAUSE
                    } else {
                        PAUSE
                    }
                }
            };
            thread::park_timeout(pause);
        }
    }

    fn is_over(&self) -> bool {
        self.flags.over.load(Ordering::SeqCst)
    }

    /// Tells why it is not ready yet, when that changes. A trial that is over has nobody to tell.
    fn say(&mut self, why: String) {
        if !self.is_over() && self.said.as_ref() != Some(&why) {
            let _ = self.notes.send(Note::Unready(why.clone()));
            self.said = Some(why);
        }
    }

    /// Tells since when everything holds. That it does not any more is news then, whatever was said before.
    fn hold(&mut self, since: TimeNs) {
        self.said = None;
        let _ = self.notes.send(Note::Held(since));
    }

    /// Looks at what costs little, and reports strangers.
    fn look(&mut self, fresh: bool) -> Result<Held, Missing> {
        let found = self.checks.look(&self.subject, &mut self.memory, fresh);
        self.checks.looks.fetch_add(1, Ordering::SeqCst);
        (self.levels.port, self.levels.health) = (self.memory.port_ns, self.memory.health_ns);
        let strangers = std::mem::take(&mut self.memory.strangers);
        for socket in &strangers {
            if self.suspects.contains(&socket.inode)
                && self.reported.insert(socket.inode)
                && let Some(holder) = owner::stranger(*socket, self.subject.keeper)
            {
                let _ = self.notes.send(Note::Foreign(holder));
            }
        }
        self.suspects = strangers.iter().map(|socket| socket.inode).collect();
        found
    }

    /// From the first time that everything cheap holds: what costs, then everything cheap again for as long as it must hold.
    fn conclude(&mut self, mut since: TimeNs) -> Result<Readiness, String> {
        let checks = Arc::clone(&self.checks);
        let costly = Costly::begin(&checks);
        let mut command_seen = None;
        if let Some(check) = &checks.command {
            self.command_runs += 1;
            let name = check.command.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            self.say(self.command_failed.clone().unwrap_or_else(|| format!("`{name}` is still running")));
            let ran = command::run(check, || self.is_over());
            self.command_failed = ran.as_ref().err().cloned();
            ran?;
            since = self.subject.clock.now();
            let argv = check.command.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            command_seen = Some(CommandSeen { argv, runs: self.command_runs });
        }
        let generation = checks.server.as_ref().map(|server| self.generate(server)).transpose()?;
        if generation.is_some() {
            since = self.subject.clock.now();
        }
        // What is held now is told before it is said that nothing is asked any more.
        self.hold(since);
        drop(costly);
        let held = self.last()?;
        let levels = Levels { stable: Some(self.subject.clock.now()), ..self.levels };
        let listener = held.listener.or_else(|| generation.as_ref().map(|generation| generation.listener.clone()));
        let Held { logs, http, file, notified, .. } = held;
        Ok(Readiness { time_ns: since, logs, listener, http, file, notified, command: command_seen, generation, levels })
    }

    /// Has a prompt completed by the tree's own server.
    fn generate(&mut self, server: &Server) -> Result<Generation, String> {
        let checks = Arc::clone(&self.checks);
        let target = &server.target;
        let own = checks.own(target.port, Some(target), &self.subject, &mut self.memory)?;
        self.levels.port = self.memory.port_ns;
        let model = server.model(&self.memory.agent).map_err(|lapse| lapse.why)?;
        self.levels.models.get_or_insert_with(|| self.subject.clock.now());
        self.say(self.generation_failed.clone().unwrap_or_else(|| server.asking()));
        let completion = server.complete(&self.memory.agent, &model, || self.is_over());
        self.generation_failed = completion.as_ref().err().cloned();
        let completion = completion?;
        checks.confirm(target, &own, &self.subject, &mut self.memory)?;
        self.levels.generation.get_or_insert_with(|| self.subject.clock.now());
        Ok(Generation { url: completion.url, model, text: completion.text, tokens: completion.tokens, listener: own.holder })
    }

    /// Makes sure that everything cheap holds now, and goes on doing so; the last look is after the whole span.
    fn last(&mut self) -> Result<Held, String> {
        let stable = self.checks.stable;
        let started = Instant::now();
        loop {
            let next = (started.elapsed() + STABLE_PAUSE).min(stable);
            while started.elapsed() < next {
                if self.is_over() || !self.subject.is_alive() {
                    return Err(self.died(started.elapsed()));
                }
                thread::park_timeout(SHORT_PAUSE.min(next.saturating_sub(started.elapsed())));
            }
            let held = self.look(true);
            if self.is_over() || !self.subject.is_alive() {
                return Err(self.died(started.elapsed()));
            }
            let after = started.elapsed();
            match held {
                Ok(held) if after >= stable => return Ok(held),
                Ok(_) => {}
                Err(missing) => {
                    return Err(format!("every condition held, and {:.2} s later not any more: {}", after.as_secs_f64(), missing.why));
                }
            }
        }
    }

    fn died(&self, after: Duration) -> String {
        format!("every condition held, and {:.2} s later the program was dead", after.as_secs_f64())
    }
}
