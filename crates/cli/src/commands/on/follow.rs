//! A command there, followed from here over as many connections as it takes.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use bystander_host::remote::job::{self, Stream};
use bystander_host::remote::link::{Link, LinkError, Opened, Options};
use bystander_host::remote::message::{Ask, Standing, Start, Told};
use bystander_model::address::Address;
use bystander_model::typed::quoted;

use super::signals::Pending;
use crate::failure::Failure;
use crate::output::Output;

/// How long one look for what the far end says takes at most: so long a signal may wait.
const LOOK: Duration = Duration::from_millis(50);
/// Before the first attempt to connect again; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Between two attempts at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What a system says of a directory that cannot be written to.
const UNWRITABLE: [&str; 3] = ["Read-only file system", "cannot create directory", "can't create directory"];

/// What comes of each piece that a command prints.
pub(super) type Printed<'a> = &'a mut dyn FnMut(Stream, &[u8]);

/// The way to a far end, made again whenever it breaks.
pub(super) struct Session {
    address: Address,
    options: Options,
    link: Option<Link>,
    opened: Opened,
    signals: &'static Pending,
    /// Signals that were passed on, and of which the far end has not said yet that it has them.
    unconfirmed: VecDeque<i32>,
    /// How long the link was away, where that it is there again was not said yet.
    away: Option<Duration>,
    /// Whether a link that breaks is not made anew: all that matters is here.
    leaving: bool,
    /// Signals that were passed on so far.
    passed_on: u64,
    say: Box<dyn Fn(&str)>,
}

impl Session {
    /// Connects for the first time; a way that does not work now is an error.
    pub(super) fn open(address: &Address, options: Options, output: &Output) -> Result<Self, Failure> {
        let config = options.config.clone();
        Self::try_open(address.clone(), options, output)?.map_err(|error| unconnected(address, config.as_deref(), &error))
    }

    /// Connects for the first time, or says why not.
    pub(super) fn try_open(address: Address, mut options: Options, output: &Output) -> Result<Result<Self, LinkError>, Failure> {
        let voice = output.voice();
        let say: Box<dyn Fn(&str)> = Box::new(move |text| voice.say(text));
        if let Some(signals) = Pending::taken() {
            options.halt = signals.flag();
        }
        let link = match Link::connect(&address, &options, &mut |text| say(text)) {
            Ok(link) => link,
            Err(error) => return Ok(Err(error)),
        };
        // Until there is something to end there, Ctrl-C ends this process.
        let signals = Pending::take_over()?;
        options.halt = signals.flag();
        let opened = link.opened().clone();
        Ok(Ok(Self {
            address,
            options,
            link: Some(link),
            opened,
            signals,
            unconfirmed: VecDeque::new(),
            away: None,
            leaving: false,
            passed_on: 0,
            say,
        }))
    }

    /// What is known of the far end.
    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The link, made again where it broke.
    pub(super) fn link(&mut self) -> Result<&mut Link, Failure> {
        self.connect()?;
        if let Some(away) = self.away.take() {
            (self.say)(&back(&self.address, away, ""));
        }
        let without = self.without();
        self.link.as_mut().ok_or(without)
    }

    fn connect(&mut self) -> Result<(), Failure> {
        if self.link.is_none() {
            if self.leaving {
                return Err(self.without());
            }
            self.link = Some(self.again()?);
        }
        Ok(())
    }

    fn without(&self) -> Failure {
        Failure::environment(format!("the connection to {} broke", self.address.machine()))
    }

    /// From now on a link that breaks is not made anew, and a signal ends every wait for it.
    pub(super) fn leave(&mut self) {
        self.leaving = true;
        let halt = self.signals.flag();
        if let Some(link) = &mut self.link {
            link.halt_by(halt);
        }
    }

    /// Connects again, for as long as it takes: the far end goes on meanwhile, and stops by itself in the end. Only Ctrl-C ends it.
    fn again(&mut self) -> Result<Link, Failure> {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match Link::connect(&self.address, &self.options, &mut |_| {}) {
                Ok(link) => {
                    self.away = Some(begun.elapsed());
                    return Ok(link);
                }
                Err(LinkError::Halted) => return Err(self.left_alone()),
                Err(error) if !error.may_pass() => return Err(unconnected(&self.address, self.options.config.as_deref(), &error)),
                Err(_) => {}
            }
            if self.signals.is_any_within(pause) {
                return Err(self.left_alone());
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The link for what need not be done now: nothing of it is waited for once this process is to end.
    pub(super) fn patient(&mut self) -> Result<&mut Link, Failure> {
        let halt = self.signals.flag();
        let link = self.link()?;
        link.halt_by(halt);
        Ok(link)
    }

    /// The signals that were not looked at.
    pub(super) fn signals(&self) -> &'static Pending {
        self.signals
    }

    fn left_alone(&self) -> Failure {
        Failure::interrupted(format!("{} cannot be reached, so the command there was not stopped", self.address.machine()))
            .hint("it goes on there until its lease is over; the same command finds it again")
    }

    /// Starts a command, unless it was, and follows it to its end, from a place in what it prints on.
    pub(super) fn carry_out(&mut self, start: &Start, body: &[u8], from: u64, printed: Printed<'_>) -> Result<Standing, Failure> {
        self.retried(&mut |link| link.ask(&Ask::Start(start.clone()), body).map(drop))?;
        self.follow(&start.job, from, &mut |stream, bytes, _| printed(stream, bytes))
    }

    /// Follows a command; `printed` is also told how far in all that it prints each piece reaches.
    pub(super) fn follow(&mut self, job: &str, from: u64, printed: &mut dyn FnMut(Stream, &[u8], u64)) -> Result<Standing, Failure> {
        let standing = self.follow_to_end(job, from, printed)?;
        // One that came too late for the command is meant for what follows.
        self.unconfirmed.drain(..).for_each(|signal| self.signals.add(signal));
        Ok(standing)
    }

    /// Ends a command by a signal, and waits until it has ended; what it prints is not looked at. A signal to this process is passed on as well, and then
    /// is a failure.
    pub(super) fn end(&mut self, job: &str, signal: i32) -> Result<Standing, Failure> {
        self.unconfirmed.push_back(signal);
        let before = self.passed_on;
        let standing = self.follow_to_end(job, 0, &mut |_, _, _| {})?;
        self.unconfirmed.clear();
        if self.passed_on > before {
            let on = self.address.machine();
            return Err(Failure::interrupted(format!(
                "interrupted while a command on {on} was being ended: it has ended, and no other was begun"
            )));
        }
        Ok(standing)
    }

    fn follow_to_end(&mut self, job: &str, from: u64, printed: &mut dyn FnMut(Stream, &[u8], u64)) -> Result<Standing, Failure> {
        let mut at = from;
        loop {
            self.connect()?;
            let error = match self.follow_on(job, &mut at, printed) {
                Ok(standing) => return Ok(standing),
                Err(error) => error,
            };
            self.lost(&error, "what runs there goes on; ")?;
        }
    }

    /// Follows a command over one connection.
    fn follow_on(&mut self, job: &str, at: &mut u64, printed: &mut dyn FnMut(Stream, &[u8], u64)) -> Result<Standing, LinkError> {
        let Some(link) = &mut self.link else { return Err(LinkError::Confused) };
        link.say(&Ask::Follow { job: job.to_owned(), from: *at }, &[])?;
        // Those that may have been lost with the last connection.
        for signal in &self.unconfirmed {
            link.say(&Ask::Signal { job: job.to_owned(), signal: *signal }, &[])?;
        }
        let mut arrived = Vec::new();
        loop {
            if self.leaving && self.signals.is_any_within(Duration::ZERO) {
                return Err(LinkError::Halted);
            }
            while let Some(signal) = self.signals.next() {
                self.passed_on += 1;
                self.unconfirmed.push_back(signal);
                link.say(&Ask::Signal { job: job.to_owned(), signal }, &[])?;
            }
            match link.hear(LOOK)? {
                Some((Told::Found { standing, .. }, _)) => {
                    if let Some(away) = self.away.take() {
                        (self.say)(&back(&self.address, away, meanwhile(standing.as_ref())));
                    }
                }
                Some((Told::Output { .. }, body)) => {
                    arrived.extend(body);
                    let taken = take(&arrived, at, printed).map_err(|_| LinkError::Confused)?;
                    arrived.drain(..taken);
                }
                Some((Told::Ended { standing, .. }, _)) => return Ok(standing),
                Some((Told::Signalled { reached: true }, _)) => drop(self.unconfirmed.pop_front()),
                Some((Told::Signalled { reached: false }, _)) => {}
                Some(_) => return Err(LinkError::Confused),
                None => {}
            }
        }
    }

    /// Does something over the link, again where it breaks meanwhile: it must be the same done twice.
    pub(super) fn retried<T>(&mut self, act: &mut dyn FnMut(&mut Link) -> Result<T, LinkError>) -> Result<T, Failure> {
        loop {
            match act(self.link()?) {
                Ok(done) => return Ok(done),
                Err(error) => self.lost(&error, "")?,
            }
        }
    }

    /// Takes that the link is lost; a failure where another one does not help.
    pub(super) fn lost(&mut self, error: &LinkError, meanwhile: &str) -> Result<(), Failure> {
        if matches!(error, LinkError::Halted) {
            return Err(Failure::interrupted(format!("interrupted while {} was being asked", self.address.machine())));
        }
        if !error.may_pass() || self.leaving {
            return Err(Failure::environment(format!("failed to go on with {}", self.address.machine())).because(error));
        }
        self.link = None;
        (self.say)(&format!("{}: the connection broke ({error}); {meanwhile}trying again", self.address.machine()));
        Ok(())
    }

    /// Whether a signal was passed on to a command.
    pub(super) fn has_passed_on(&self) -> bool {
        self.passed_on > 0
    }

    /// Ends the connection.
    pub(super) fn close(&mut self) {
        self.link = None;
    }

    /// Removes what there is of a command that has ended, and gives whether it is gone: no lost link is made anew for that, and a signal ends it.
    pub(super) fn forget(&mut self, job: &str) -> bool {
        let halt = self.signals.flag();
        let Some(link) = &mut self.link else { return false };
        link.halt_by(halt);
        let asked = link.ask(&Ask::Forget { job: job.to_owned() }, &[]);
        if !self.leaving {
            link.halt_by_nothing();
        }
        match asked {
            Ok(_) => true,
            Err(error) => {
                // What follows must not wait for what will not come.
                if error.may_pass() {
                    self.link = None;
                }
                false
            }
        }
    }
}

/// What is said of a link that is there again, and of what that shows.
fn back(address: &Address, away: Duration, shows: &str) -> String {
    format!("{}: there again after {:.0} s{shows}", address.machine(), away.as_secs_f64())
}

/// What became of a command while nobody here heard of it, as the end of a sentence.
fn meanwhile(standing: Option<&Standing>) -> &'static str {
    match standing {
        Some(Standing::Running) => "; the command has gone on there, and nothing is lost",
        Some(Standing::Ended(end)) if end.lease_over_s.is_some() => "; the command was ended there, since its lease was over",
        Some(Standing::Ended(end)) if end.code.is_some() && end.cleared.is_none() && end.lost_why.is_none() => {
            "; the command has ended there meanwhile, and nothing is lost"
        }
        Some(Standing::Ended(_)) => "; the command was ended there meanwhile",
        Some(Standing::Lost) => "; whoever looked after the command there is gone",
        None => "; there is no such command any more",
    }
}

/// Hands on every record that has arrived as a whole; gives how many bytes they took.
fn take(arrived: &[u8], at: &mut u64, printed: &mut dyn FnMut(Stream, &[u8], u64)) -> io::Result<usize> {
    let mut taken = 0;
    while let Some((stream, bytes, length)) = job::record(&arrived[taken..])? {
        taken += length;
        *at += length as u64;
        printed(stream, bytes, *at);
    }
    Ok(taken)
}

/// No connection, with the step that helps.
pub(super) fn unconnected(address: &Address, config: Option<&Path>, error: &LinkError) -> Failure {
    let machine = address.machine();
    if matches!(error, LinkError::Halted) {
        return Failure::interrupted(format!("interrupted while connecting to {machine}"));
    }
    let failure = Failure::environment(format!("failed to connect to {machine}")).because(error);
    let config = config.map_or_else(String::new, |file| format!("-F {} ", quoted(file)));
    let ssh = format!("ssh {config}{}{}", address.port.map_or_else(String::new, |port| format!("-p {port} ")), {
        address.user.as_ref().map_or_else(|| address.host.clone(), |user| format!("{user}@{}", address.host))
    });
    match error {
        LinkError::HostKey { remove: Some(remove), .. } => failure.hint(format!(
            "nothing was sent: the host may have been set up anew, or somebody stands between; where whoever runs it says that the new key is right, \
             {remove}; then log in once with `{ssh}` and accept it"
        )),
        LinkError::HostKey { remove: None, .. } => {
            failure.hint(format!("nothing was sent; where you know that the key is right, log in once with `{ssh}` and accept it"))
        }
        LinkError::Refused { .. } => failure.hint(format!("`{ssh}` must log in without asking: a key in an agent, or in your configuration of SSH")),
        LinkError::NoAgent { why } | LinkError::Failed { why, .. } if why.contains("No space left") => {
            failure.hint("make room in the home directory there, or set XDG_STATE_HOME there to a directory that has room")
        }
        LinkError::NoAgent { why } | LinkError::Failed { why, .. } if UNWRITABLE.iter().any(|said| why.contains(said)) => {
            failure.hint("set XDG_STATE_HOME there to a directory that can be written to")
        }
        LinkError::NoAgent { .. } => failure.hint(format!("install bystander {} there, on the PATH of `{ssh}`", env!("CARGO_PKG_VERSION"))),
        LinkError::Failed { .. } => failure.hint("mend that there, and run the same command again"),
        LinkError::Unreachable { .. } | LinkError::Halted => failure.hint(format!("look whether `{ssh}` connects")),
        LinkError::Broken(_) => failure.hint("ssh had connected, and the connection was lost; nothing was begun there: run the same command again"),
        LinkError::Silent { .. } => failure.hint(format!(
            "the machine may be overloaded or its home directory hang, or what its shell runs at its start may wait for something: look at it with `{ssh}`"
        )),
        LinkError::Scratch(_) => failure.hint("name a directory that can be written to with TMPDIR"),
        LinkError::TooLong(_) | LinkError::Local(_) => failure.hint("mend that here: nothing was sent"),
        LinkError::Confused => {
            failure.hint("something between both ends, or in the start of the shell there, writes among what they say: run the same command again")
        }
    }
}
