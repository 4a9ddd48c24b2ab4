//! `--on ssh://…`: a verb that is carried out on another machine, by the same executable, as if it had been typed there.
//!
//! What is typed travels as bytes in a message; files that it names for their text travel with it. What it prints comes back as it is printed. The record
//! of a run comes back as events and files, and is told from the state directory here.

mod doctor;
mod ending;
mod experiment;
mod follow;
mod hosts;
mod jobs;
mod near;
mod record;
mod signals;
mod there;
mod words;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bystander_host::remote::clock::Offset;
use bystander_host::remote::job::Stream;
use bystander_host::remote::link::Options;
use bystander_host::remote::message::{Screen, Start, Word};
use bystander_host::remote::warden::JOB_ARGUMENT;
use bystander_lab::spec::LEAST_LEASE;
use bystander_model::address::Address;
use bystander_model::typed;

use crate::args::{Args, Command, MemoryCommand, PatchCommand, RemoteArgs};
use crate::failure::Failure;
use crate::output::{self, Output};
use ending::Again;
use experiment::Experiment;
use follow::Session;
use jobs::new_name;
use near::Near;
use there::{Asked, There};

pub(super) use experiment::masked;
pub(crate) use hosts::way_to;
pub(super) use hosts::{elsewhere, last_seen};

/// How long a command goes on there without anybody here, where nobody says.
const DEFAULT_LEASE: Duration = Duration::from_secs(30 * 60);

/// A verb on another machine.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) address: Address,
    lease: Duration,
    config: Option<PathBuf>,
    upload: bool,
    /// The experiment, where one is to be run: its file is read once.
    experiment: Option<Experiment>,
}

impl Wanted {
    /// The options with which a verb that is typed here works there, with that of the state directory here.
    fn way(&self, state: &str) -> String {
        hosts::way(&typed::quoted(self.address.to_os_string()), self.config.as_deref(), state)
    }
}

/// From now on every command that is printed reaches the machine and the state directory of this one.
pub(super) fn reach(args: &Args, wanted: Option<&Wanted>) {
    let state = state_of(args).map(|state| output::state_option(&state)).unwrap_or_default();
    typed::reach(typed::Reach { there: wanted.map_or_else(|| state.clone(), |wanted| wanted.way(&state)), here: state });
}

/// The state directory of a command, where it is not looked for.
fn state_of(args: &Args) -> Option<PathBuf> {
    match (&args.state, &args.command) {
        (Some(named), _) => Some(named.clone()),
        (None, Command::Run(run)) => Some(bystander_store::StateDir::beside(&absolute(&run.file))),
        (None, _) => None,
    }
}

/// The machine that was asked for; `None` is this one.
pub(super) fn wanted(args: &Args) -> Result<Option<Wanted>, Failure> {
    let RemoteArgs { on, ssh_config, lease, no_upload } = &args.remote;
    let experiment = match &args.command {
        // What is no plain file can be read once: by whoever runs it.
        Command::Run(run) if on.is_some() || run.file.is_file() => Some(Experiment::read(&run.file)),
        _ => None,
    };
    let of_file = experiment.as_ref().and_then(|read| Some(read.as_ref().ok()?.remote.clone())).unwrap_or_default();
    let on = on.as_deref().map(|on| Address::of_os(on).map_err(|error| not_an_address(on, &error))).transpose()?;
    let lease = lease.as_deref().map(span).transpose()?.or(of_file.lease);
    let Some(address) = on.or(of_file.on) else {
        let lone = [
            (lease.is_some() && args.remote.lease.is_some(), "--lease"),
            (ssh_config.is_some(), "--ssh-config"),
            (*no_upload, "--no-upload"),
        ];
        return match lone.iter().find(|(given, _)| *given) {
            Some((_, option)) => {
                // A file that cannot be read may name the machine.
                experiment.transpose()?;
                Err(Failure::user(format!("{option} says nothing without --on")).hint("name a machine with --on ssh://user@host"))
            }
            // A file with other problems is told by whoever runs it.
            None => match (&args.command, of_file.lone) {
                (Command::Run(run), Some(problem)) => Err(super::run::unread(&run.file, vec![problem])),
                _ => Ok(None),
            },
        };
    };
    if let Some(verb) = stays_here(&args.command) {
        return Err(Failure::user(format!("failed to do `{verb}` on {}: it reads what is here", address.machine()))
            .hint(format!("leave out --on: the record of a run there comes back, and `bystander {verb}` shows it")));
    }
    let config = ssh_config.clone();
    let lease = lease.unwrap_or(DEFAULT_LEASE);
    if lease < LEAST_LEASE {
        return Err(Failure::user(format!("failed to use a lease of {lease:?}: it is shorter than {} s", LEAST_LEASE.as_secs()))
            .hint("a sign of life is sent every 2 s, and may be late"));
    }
    // What the text alone shows is told here, before anybody is asked for anything.
    let experiment = experiment.transpose()?;
    Ok(Some(Wanted { address, lease, config, upload: !no_upload, experiment }))
}

fn not_an_address(on: &OsStr, error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::user(format!("failed to read the address {}", typed::escaped(on.as_encoded_bytes()))).because(error)
}

fn span(text: &str) -> Result<Duration, Failure> {
    bystander_lab::spec::duration::parse(text).filter(|span| !span.is_zero()).ok_or_else(|| {
        Failure::user(format!("failed to read the lease {text}: it is no span of time")).hint("write it such as 30m, 90s or 12h")
    })
}

/// The verb, where it is one that reads what is here.
fn stays_here(command: &Command) -> Option<&'static str> {
    match command {
        Command::Show(_) => Some("show"),
        Command::Export(_) => Some("export"),
        Command::Patch(PatchCommand::Verify(args)) if args.staged => Some("patch verify --staged"),
        _ => None,
    }
}

/// The words of a command that a warden has started, and whether it was one: `far-job SCREEN LEASE-OVER WORD…`.
pub(crate) fn far_job(words: Vec<OsString>) -> (Vec<OsString>, bool) {
    if words.get(1).is_none_or(|first| first != JOB_ARGUMENT) {
        return (words, false);
    }
    // The warden keeps what is printed and decides how long this goes on: without it, nothing may go on. A warden that is gone already is seen by the
    // first thing that is printed.
    let _unsupported = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::INT));
    let screen = words.get(2).and_then(|screen| serde_json::from_str(screen.to_str()?).ok()).unwrap_or_default();
    output::print_as_told(screen, words.get(3).map(PathBuf::from).unwrap_or_default());
    (words[..1].iter().chain(words.iter().skip(4)).cloned().collect(), true)
}

/// Carries a verb out there.
pub(super) fn run(args: &Args, wanted: &Wanted, output: &mut Output) -> Result<ExitCode, Failure> {
    if matches!(args.command, Command::Doctor(_)) {
        return doctor::run(args, wanted, output);
    }
    let near = near_of(args)?;
    let options =
        Options { config: wanted.config.clone(), upload: wanted.upload, near: near.name().to_owned(), visits: false, halt: Arc::default() };
    let mut session = Session::open(&wanted.address, options, output)?;
    hosts::know(&near, &wanted.address, wanted.config.as_deref(), session.opened())?;
    let mut there = There { wanted, near: &near, session: &mut session, output, over: None };
    there.tidy();
    let done = match (&args.command, &wanted.experiment) {
        (Command::Run(run), Some(experiment)) if !run.dry_run => record::run(args, run, experiment, &mut there),
        (Command::Watch(watch), _) if watch.list.is_none() => record::watch(&mut there),
        (command, _) if ending::has_effect(command) => once(command, &mut there),
        (command, _) => plain(args, command, &mut there),
    };
    // What follows is a courtesy: no lost link is made anew for it.
    there.session.leave();
    if leaves_edits(&args.command) {
        hosts::remember(&near, there.session, &wanted.address);
    }
    there.leave();
    done
}

/// A verb whose answer is what it prints, and which does something there: once, however often its near end is killed.
fn once(command: &Command, there: &mut There<'_>) -> Result<ExitCode, Failure> {
    let (words, body) = words::typed(std::env::args_os().skip(1), &there.session.opened().state)?;
    let (what, again) = (there::what(&words, &body), Again::of(command));
    let asked = Asked { verb: verb(command), words, body, what, anew: false, again, is_answer: again == Again::Edits };
    let standing = there.carry_out(&asked, &mut |stream, bytes, output| output.passed_on(stream == Stream::Out, bytes))?;
    there.code(&standing, again)
}

/// Whether a verb may leave edits there, or take them back.
fn leaves_edits(command: &Command) -> bool {
    match command {
        Command::Run(run) => !run.dry_run,
        Command::Patch(PatchCommand::Apply(_) | PatchCommand::Revert { .. } | PatchCommand::Status) => true,
        _ => false,
    }
}

/// What is kept here of a verb: beside an experiment file, in the working directory, or for verbs that keep nothing, with the user's state.
fn near_of(args: &Args) -> Result<Near, Failure> {
    let named = args.state.as_deref();
    match &args.command {
        Command::Run(run) => {
            let state = named.map_or_else(|| bystander_store::StateDir::beside(&absolute(&run.file)), Path::to_owned);
            if run.dry_run { Ok(Near::passing(&state)) } else { Near::of_state(&state) }
        }
        Command::Watch(_) => Near::of_state(&named.map_or_else(|| PathBuf::from(bystander_store::state::STATE_NAME), Path::to_owned)),
        Command::Patch(_) => Near::of_state(&super::patch::state_path(named)?),
        _ => Near::of_user(),
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// A verb whose answer is what it prints.
fn plain(args: &Args, command: &Command, there: &mut There<'_>) -> Result<ExitCode, Failure> {
    let There { wanted, near, session, output, .. } = there;
    if let Command::Memory(MemoryCommand::Explain(explain)) = command
        && explain.logs.iter().any(|log| log == "-")
    {
        return Err(Failure::user("failed to read standard input there: it is here").hint("leave out --on: `memory explain -` reads here"));
    }
    let (words, body) = match (command, &wanted.experiment) {
        (Command::Run(run), Some(experiment)) => {
            let sent = record::sent(args, run, experiment, wanted, session);
            (sent.asked.words, sent.asked.body)
        }
        _ => words::typed(std::env::args_os().skip(1), &session.opened().state)?,
    };
    let clock = session.link()?.offset();
    let start = start(new_name(verb(command)), words, false, clock, wanted, near, output);
    let ended = session.carry_out(&start, &body, 0, &mut |stream, bytes| output.passed_on(stream == Stream::Out, bytes))?;
    session.forget(&start.job);
    there.code(&ended, Again::of(command))
}

/// What is asked of the far end; `taken_up` where a near end that was killed comes back for it.
fn start(job: String, words: Vec<Word>, taken_up: bool, clock: Offset, wanted: &Wanted, near: &Near, output: &Output) -> Start {
    let folder = wanted.address.folder.as_deref().map(bystander_host::remote::message::bytes);
    Start { job, words, screen: screen(clock, wanted, near, output), folder, lease_s: wanted.lease.as_secs().max(1), taken_up }
}

/// How what is printed there is shown here, and how the commands in it are typed here.
fn screen(clock: Offset, wanted: &Wanted, near: &Near, output: &Output) -> Screen {
    let (columns, colour) = output.screen();
    let again = near.state().map(|state| output::state_option(state.path())).unwrap_or_default();
    Screen { columns, colour, way: wanted.way(&again), again, address: wanted.address.machine(), clock }
}

fn verb(command: &Command) -> &'static str {
    match command {
        Command::Run(_) => "run",
        Command::Watch(_) => "watch",
        Command::Patch(_) => "patch",
        Command::Memory(_) => "memory",
        Command::Doctor(_) => "doctor",
        Command::Show(_) | Command::Export(_) => "show",
    }
}
