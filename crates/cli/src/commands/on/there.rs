//! Carries a command out there once, however often its near end is killed and typed again.
//!
//! It is written down here before it is asked for, and taken away when its end has been told, as the last thing that is done. The same command that is typed
//! in between follows the one that there is: it asks for it by its name, which the far end starts once.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use bystander_host::remote::job::Stream;
use bystander_host::remote::message::{Ask, Standing, Word};
use bystander_store::output::sha256_hex;
use rustix::process::Signal;

use super::ending::{self, Again, by_itself};
use super::follow::Session;
use super::jobs::{Held, Job};
use super::near::Near;
use super::{Wanted, start};
use crate::failure::Failure;
use crate::output::Output;

/// Between two notes of how much was printed: so much may be printed again where this process is killed.
const NOTE: Duration = Duration::from_millis(200);

/// What is asked for.
pub(super) struct Asked {
    pub(super) verb: &'static str,
    pub(super) words: Vec<Word>,
    pub(super) body: Vec<u8>,
    /// The hash of what makes it another command.
    pub(super) what: String,
    /// Whether one that was begun is not to be taken up.
    pub(super) anew: bool,
    pub(super) again: Again,
    /// Whether what it prints is one answer, which is printed as a whole by whoever asks.
    pub(super) is_answer: bool,
}

impl Asked {
    /// Whether it leaves a record that comes back; of one such there is one at a time.
    fn is_recorded(&self) -> bool {
        matches!(self.again, Again::GoesOn | Again::Recorded)
    }
}

/// The hash of what is asked for.
pub(super) fn what(words: &[Word], body: &[u8]) -> String {
    let words = serde_json::to_vec(words).unwrap_or_default();
    sha256_hex(&[words.as_slice(), body].concat())
}

/// What comes of each piece that a command prints.
pub(super) type Shown<'a> = &'a mut dyn FnMut(Stream, &[u8], &mut Output);

/// Where commands are carried out.
pub(super) struct There<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) near: &'a Near,
    pub(super) session: &'a mut Session,
    pub(super) output: &'a mut Output,
    /// The command whose end is here and is to be told.
    pub(super) over: Option<Held>,
}

impl There<'_> {
    /// Takes away what has been told and was not gone there when it was; what cannot go now goes another time.
    pub(super) fn tidy(&mut self) {
        let machine = self.wanted.address.machine();
        let told =
            self.near.jobs().told(|address| address.parse().is_ok_and(|of: bystander_model::address::Address| of.machine() == machine));
        for held in told.unwrap_or_default() {
            if self.session.forget(&held.job.job) {
                self.near.jobs().remove(&held);
            }
        }
    }

    /// Starts a command or finds it again, follows it to its end, and brings its record back. Its end is to be told, and then [`There::told`].
    pub(super) fn carry_out(&mut self, asked: &Asked, shown: Shown<'_>) -> Result<Standing, Failure> {
        let address = self.wanted.address.to_string();
        if asked.anew {
            self.end_earlier(asked, &address)?;
        } else if let Some(held) = self.near.jobs().take_up(&address, &asked.what, asked.is_recorded())? {
            self.output.say(&taken_up(&held.job, &self.wanted.address.machine()));
            let standing = self.finish(held, asked, shown)?;
            if by_itself(&standing) || asked.again != Again::GoesOn {
                return Ok(standing);
            }
            self.told();
            let why = ending::lease_over(&standing).map_or_else(String::new, |why| format!(" ({why})"));
            self.output.say(&format!("it was stopped there meanwhile{why}: it is started again, and goes on with what was recorded"));
        }
        let held = self.near.jobs().begin(Job::new(asked.verb, address, asked.what.clone()))?;
        self.finish(held, asked, shown)
    }

    /// Has a command started, unless it was, follows it to its end, and takes that.
    fn finish(&mut self, mut held: Held, asked: &Asked, shown: Shown<'_>) -> Result<Standing, Failure> {
        let standing = self.follow(&mut held.job, asked, shown)?;
        held.job.ended = Some(standing.clone());
        // From here on it may be gone there.
        self.near.jobs().keep(&held.job)?;
        if asked.is_recorded() {
            self.bring_back().map_err(|failure| self.unless_halted(failure))?;
        }
        self.over = Some(held);
        Ok(standing)
    }

    fn follow(&mut self, job: &mut Job, asked: &Asked, shown: Shown<'_>) -> Result<Standing, Failure> {
        let name = job.job.clone();
        if job.ended.is_none() {
            let clock = self.session.link()?.offset();
            let start = start(name.clone(), asked.words.clone(), true, clock, self.wanted, self.near, self.output);
            self.session.retried(&mut |link| link.ask(&Ask::Start(start.clone()), &asked.body).map(drop))?;
        }
        let mut noted = Instant::now();
        let from = if asked.is_answer { 0 } else { job.printed };
        let standing = self.session.follow(&name, from, &mut |stream, bytes, at| {
            shown(stream, bytes, self.output);
            job.printed = at;
            if noted.elapsed() >= NOTE {
                noted = Instant::now();
                // What is not noted is printed again, at worst.
                let _noted = self.near.jobs().keep(job);
            }
        })?;
        Ok(match (&job.ended, standing) {
            // It was gone there already: all of it was printed here.
            (Some(ended), Standing::Lost) => ended.clone(),
            (_, standing) => standing,
        })
    }

    /// Ends what was begun of a command that is to begin anew: there would be two of it, and the older one would be there until its lease is over.
    fn end_earlier(&mut self, asked: &Asked, address: &str) -> Result<(), Failure> {
        for mut held in self.near.jobs().left(address, &asked.what)? {
            let name = held.job.job.clone();
            self.output.say(&format!(
                "the same command was asked for on {} before{}: it is ended first",
                self.wanted.address.machine(),
                when(&held.job)
            ));
            let standing = self.session.end(&name, Signal::INT.as_raw())?;
            held.job.ended.get_or_insert(standing);
            self.let_go(held);
        }
        Ok(())
    }

    /// The exit code of a command that ended there; a failure where there is none.
    pub(super) fn code(&self, standing: &Standing, again: Again) -> Result<ExitCode, Failure> {
        ending::code(standing, again, &self.wanted.address.machine(), self.session.has_passed_on())
    }

    /// Takes that the end of the command has been told: from now on the same command is another one.
    pub(super) fn told(&mut self) {
        if let Some(held) = self.over.take() {
            self.let_go(held);
        }
    }

    /// As [`There::told`], for the last thing that this process does: what else takes time is over before.
    pub(super) fn leave(mut self) {
        let over = self.over.take();
        let is_gone = over.as_ref().is_some_and(|held| self.session.forget(&held.job.job));
        self.session.close();
        if let Some(held) = over {
            self.take_away(held, is_gone);
        }
    }

    /// Has a command removed there, and takes it away here.
    fn let_go(&mut self, held: Held) {
        let is_gone = self.session.forget(&held.job.job);
        self.take_away(held, is_gone);
    }

    fn take_away(&self, mut held: Held, is_gone: bool) {
        if is_gone {
            return self.near.jobs().remove(&held);
        }
        held.job.told = true;
        // One that is not noted is taken up once more, and is known to have ended.
        let _noted = self.near.jobs().keep(&held.job);
    }
}

/// What is said of a command that is not begun a second time.
fn taken_up(job: &Job, on: &str) -> String {
    let when = when(job);
    match &job.ended {
        None => format!("the same command was asked for on {on} before{when}: it is taken up where it was"),
        Some(_) => {
            format!("the same command was asked for on {on} before{when} and has ended: it is taken up where it was, to tell its end")
        }
    }
}

/// When it was asked for.
fn when(job: &Job) -> String {
    job.asked.map_or_else(String::new, |asked| format!(" ({})", asked.strftime("%Y-%m-%d %H:%M:%S UTC")))
}
