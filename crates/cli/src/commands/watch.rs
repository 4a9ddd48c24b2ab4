//! `bystander watch`: one command, run once with probes, and its hits as they come; or the places that a file has for probes.

mod again;
mod destination;
mod list;
pub(in crate::commands) mod problems;
mod recording;

use std::collections::BTreeSet;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bystander_host::local::LocalPlace;
use bystander_host::watching::{self, CheckError, Checked, Launch, Request, WatchError};
use bystander_lab::place::Place as _;
use bystander_model::hit::ReceiptState;
use bystander_model::ids::RunId;
use bystander_model::probe::ProbeSpec;
use bystander_model::typed;
use bystander_model::watch::{WatchProbe, WatchStart, WatchStatus, WatchSummary};
use bystander_probe::InterpreterError;
use bystander_store::{Reserve, RunLock, StateDir};
use bystander_supervise::Canceller;
use bystander_supervise::trial::Inherited;

use crate::args::WatchArgs;
use crate::failure::{Failure, exit};
use crate::output::{self, Output, other_state};
use crate::{interrupt, not_text, reading, state};

use destination::Unused;
use problems::Typed;
use recording::Recording;

pub(super) use again::{in_a_line, is_watched, show, summary};

/// Watches a command.
pub(crate) fn run(args: &WatchArgs, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    if let Some(what) = &args.list {
        return list::run(what, args, output);
    }
    if args.probes.is_empty() && args.packs.is_empty() {
        return Err(
            Failure::user("failed to watch the command: no probe is given").hint(format!("give one with -p PROBE: {}", problems::FORM))
        );
    }
    if args.command.is_empty() {
        return Err(
            Failure::user("failed to watch: no command is given").hint("write it after `--`: bystander watch -p PROBE -- python3 app.py")
        );
    }
    let typed = problems::parse(&args.probes)?;
    let request = request(args, &typed)?;
    let checked = watching::check(request).map_err(|error| refused(&error, &typed, args.python.is_some()))?;
    let (to, unused) = destination::make(args.output.as_deref())?.unzip();
    let streams = streams(to.is_some()).map_err(|error| Failure::environment("failed to hand on the standard streams").because(&error))?;
    let path = named.map_or_else(|| StateDir::beside(&checked.request().cwd.join("any")), PathBuf::from);
    let state = StateDir::open(&path).map_err(|error| state::of_state(&error))?;
    let canceller = interrupt::canceller(|_| {})?;
    let mut place = LocalPlace::open(&state, &state::registry()?, state::journal(&state)?, canceller.clone(), reading::readers())
        .map_err(|error| Failure::environment("failed to prepare this machine").because(&error))?;
    place.sweep().map_err(|error| Failure::environment("failed to remove what a killed run had left").because(&*error))?;
    let run = state.new_run(Path::new("watch"), jiff::Timestamp::now()).map_err(|error| state::of_state(&error))?;
    let _lock = RunLock::acquire(&state, &run).map_err(|error| state::of_lock(&error))?;
    output::note_clock(&state, &run);
    let start = start(&checked, &place);
    output.watching(&start);
    let store = state::open(&state)?;
    let names = start.probes.iter().map(|probe| probe.spec.name.clone()).collect();
    let reserve = Reserve::take(state.path());
    let mut recording = Recording::begin(store, reserve, &run, start, output.hits(to, names, again::reader(&state, &run)))?;
    let launch = Launch { state: &state, run: &run, streams, canceller: &canceller };
    let mut told = false;
    let watched = watching::run(&checked, launch, &mut |happened| {
        recording.take(happened).inspect_err(|error| {
            if !std::mem::replace(&mut told, true) {
                output.say(&format!("bystander: hits are neither recorded nor printed any more ({error}); the program goes on"));
            }
        })
    });
    let summary = recording.summary();
    if matches!(&watched, Err(error) if !matches!(error, WatchError::Record(_))) {
        let failure = of_watch(watched);
        recording.fail(&failure.causes.join(": "));
        return Err(failure);
    }
    unused.into_iter().for_each(Unused::keep);
    finish(recording, &summary, &run, &canceller, &state, output);
    match watched {
        Ok(()) => Ok(ExitCode::from(exit_code(&summary))),
        failed => Err(of_watch(failed)),
    }
}

/// The last hits and the summary.
fn finish(recording: Recording, summary: &WatchSummary, run: &RunId, canceller: &Canceller, state: &StateDir, output: &mut Output) {
    let unshown = recording.end(summary, canceller);
    if unshown > 0 {
        output.say(&format!(
            "{unshown} hits were recorded and not printed: nobody reads them (`{}` has them)",
            typed::here(&format!("show {run}"))
        ));
    }
    output.watched(summary, state.path());
}

/// What is to be run.
fn request(args: &WatchArgs, typed: &[Typed]) -> Result<Request, Failure> {
    let cwd = std::env::current_dir().map_err(|error| {
        Failure::environment("failed to find the working directory")
            .because(&error)
            .hint("it was removed or may not be entered; `cd` to one that is there")
    })?;
    not_text::path("the working directory", &cwd)?;
    let mut names: BTreeSet<String> = typed.iter().map(|typed| typed.probe.name.clone()).filter(|name| !name.is_empty()).collect();
    let mut number = 0;
    let mut name = |probe: &mut ProbeSpec| {
        while probe.name.is_empty() {
            number += 1;
            let free = format!("p{number}");
            if names.insert(free.clone()) {
                probe.name = free;
            }
        }
    };
    let probes = typed.iter().map(|typed| {
        let mut probe = typed.probe.clone();
        name(&mut probe);
        probe
    });
    let probes = probes.collect();
    Ok(Request {
        command: args.command.clone(),
        env: std::env::vars_os().collect(),
        cwd,
        python: args.python.clone(),
        probes,
        packs: args.packs.clone(),
        limit: args.limit,
        delivery: args.delivery.into(),
    })
}

/// The program's streams: its own where hits go to a file; else both of its outputs go to our standard error, and hits have standard output for
/// themselves.
fn streams(own: bool) -> std::io::Result<Inherited> {
    let stderr = std::io::stderr().as_fd().try_clone_to_owned()?;
    let stdout = if own { std::io::stdout().as_fd().try_clone_to_owned()? } else { stderr.try_clone()? };
    Ok(Inherited { stdin: std::io::stdin().as_fd().try_clone_to_owned()?, stdout, stderr })
}

fn start(checked: &Checked, place: &LocalPlace) -> WatchStart {
    let words: Vec<String> = checked.request().command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let placed = checked.request().probes.iter().zip(checked.probes()).zip(checked.choices());
    let probes = placed.map(|((spec, found), choice)| WatchProbe {
        spec: spec.clone(),
        placed: found.chosen.clone(),
        file: found.path.clone(),
        function: found.scope.clone(),
        delivery: choice.way.delivery(),
        limits: Some(format!("{}; {}", choice.describe(), choice.limits.join("; "))),
    });
    WatchStart {
        command: place.masker().command(&words),
        cwd: checked.request().cwd.clone(),
        probes: probes.collect(),
        python: Some(checked.python().to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        notes: checked.notes().to_vec(),
    }
}

fn refused(error: &CheckError, typed: &[Typed], named: bool) -> Failure {
    let failure = Failure::user("failed to watch the command; nothing was launched");
    match error {
        CheckError::Probes(found) => problems::of_places(failure, found, typed),
        CheckError::Handover { .. } => {
            failure.because(error).hint("watch the command that runs inside: only its own process tree can be watched")
        }
        CheckError::Command(_) if named => failure.because(error).hint("mend the command, `--python`, or PATH"),
        CheckError::Command(_) => failure.because(error).hint("mend the first word after `--`, or PATH"),
        CheckError::Way { source, .. } => failure.because(error).hint(&source.mend),
        CheckError::Pack(_) => {
            failure.because(error).hint(format!("`{}` says which sets of probes bind to which installed engine", typed::there("doctor")))
        }
        CheckError::Python(InterpreterError::NotPython { .. }) => failure
            .because(error)
            .hint("name the Python that it starts in the end with `--python PYTHON`: the probes are in every Python process of its tree")
            .hint("or start the program by its Python (`-- python3 -m …`); for other languages `bystander patch` edits any text file"),
        CheckError::Python(InterpreterError::NoAnswer { python, .. } | InterpreterError::BadAnswer { python, .. }) => failure
            .because(error)
            .hint(format!("see whether it starts at all: {} -c pass", python.display()))
            .hint("where it does, this is a fault of bystander: the words above say where"),
        CheckError::Python(InterpreterError::NotText { .. }) => failure.because(error).hint(not_text::MOVED),
        CheckError::Python(_) => failure.because(error).hint("probes need the program's own Python, 3.8 or newer"),
    }
}

fn of_watch(watched: Result<(), WatchError>) -> Failure {
    let Err(error) = watched else { return Failure::environment("failed to watch the command") };
    match &error {
        WatchError::Start(_) => Failure::user("failed to launch the command")
            .because(&error)
            .hint("it must be a program that this user may run, in a directory that is there"),
        WatchError::Record(_) => Failure::environment("failed to record everything that was seen")
            .because(&error)
            .hint(format!("what was printed is recorded; mend the cause, such as a full disk, or {}", other_state())),
        _ => Failure::environment("failed to watch the command").because(&error),
    }
}

/// The exit code of a watched command, as its help says it.
pub(super) fn exit_code(summary: &WatchSummary) -> u8 {
    match summary.status {
        WatchStatus::Interrupted | WatchStatus::Killed => return exit::INTERRUPTED,
        WatchStatus::Running => return exit::UNDETERMINED,
        WatchStatus::Ended => {}
    }
    if summary.trouble.is_some() {
        return exit::HARNESS;
    }
    if summary.exit != Some(0) {
        return exit::FAILED;
    }
    let was_in_place = |state: &ReceiptState| {
        use ReceiptState::{Armed, CompiledAway, Expired, NotReached, Paused};
        // What a compiler passes by, as the probe asked for, is in place all the same.
        matches!(state, Armed | NotReached | Paused | Expired | CompiledAway)
    };
    let known =
        summary.probes.iter().all(|probe| probe.states.keys().any(was_in_place) && !probe.states.contains_key(&ReceiptState::Refused));
    if known { exit::ANSWERED } else { exit::UNDETERMINED }
}
