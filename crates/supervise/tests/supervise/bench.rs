//! What the tests share: a temporary world, trials in it, and waiting for a condition with a limit.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bystander_supervise::{
    Canceller, Command, ExitStatus, Finished, KeeperProgram, Line, OutputPaths, Readiness, ReadySpec, StartError, Trial, TrialEvent,
    TrialSpec,
};
use regex::bytes::Regex;

/// Longer than anything here takes; reached only when something is broken.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The keeper that was built for the tests.
pub(crate) fn keeper() -> KeeperProgram {
    KeeperProgram { exe: env!("CARGO_BIN_EXE_bystander-keeper").into(), args: vec![KeeperProgram::ARGUMENT.into()] }
}

/// Waits until a condition holds; panics with `what` when it does not within the limit.
pub(crate) fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
    started.elapsed()
}

/// A temporary directory and the trials in it.
pub(crate) struct World {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) marker: String,
}

static WORLDS: AtomicU32 = AtomicU32::new(0);

impl World {
    pub(crate) fn new() -> Self {
        let marker = format!("test-{}-{}", std::process::id(), WORLDS.fetch_add(1, Ordering::SeqCst));
        Self { directory: tempfile::tempdir().expect("temporary directory"), marker }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("writes");
        path
    }

    pub(crate) fn spec(&self, argv: &[&str]) -> TrialSpec {
        let inherited = ["PATH", "HOME", "LD_LIBRARY_PATH", "PYENV_ROOT"].into_iter();
        let env: BTreeMap<OsString, OsString> = inherited.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
        TrialSpec {
            command: Command {
                argv: argv.iter().map(Into::into).collect(),
                env,
                cwd: self.directory.path().to_owned(),
                marker: self.marker.clone(),
                remove_on_exit: Vec::new(),
            },
            keeper: keeper(),
            output: OutputPaths { stdout: self.path("stdout"), stderr: self.path("stderr") },
            hidden: Vec::new(),
            ready: None,
            canceller: Canceller::new(),
            namespace: None,
        }
    }

    pub(crate) fn start(&self, argv: &[&str]) -> Trial {
        Trial::start(self.spec(argv)).expect("starts")
    }

    /// Runs a shell script to its end.
    pub(crate) fn sh(&self, script: &str) -> Told {
        Told::of(&mut self.start(&["sh", "-c", script]))
    }

    pub(crate) fn refusal(&self, argv: &[&str]) -> StartError {
        match Trial::start(self.spec(argv)) {
            Ok(_) => panic!("{argv:?} started"),
            Err(error) => error,
        }
    }

    pub(crate) fn stdout(&self) -> Vec<u8> {
        fs::read(self.path("stdout")).expect("reads")
    }

    pub(crate) fn ready(mut spec: TrialSpec, ready: ReadySpec) -> TrialSpec {
        spec.ready = Some(ready);
        spec
    }

    /// The processes that carry this world's marker.
    pub(crate) fn marked(&self) -> Vec<u32> {
        marked(&self.marker)
    }
}

/// The living processes whose environment carries a marker.
pub(crate) fn marked(marker: &str) -> Vec<u32> {
    carrying("BYSTANDER_TRIAL", marker)
}

/// The living processes whose environment has this variable with this value.
pub(crate) fn carrying(name: &str, value: &str) -> Vec<u32> {
    let wanted = format!("{name}={value}");
    let is_marked = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|&b| b == 0).any(|entry| entry == wanted.as_bytes())
    };
    pids().into_iter().filter(is_marked).collect()
}

pub(crate) fn pids() -> Vec<u32> {
    fs::read_dir("/proc").expect("lists").flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Everything a trial has told until its end.
pub(crate) struct Told {
    pub(crate) events: Vec<TrialEvent>,
    pub(crate) finished: Finished,
}

impl Told {
    /// Lets a program end by itself, then closes up.
    pub(crate) fn of(trial: &mut Trial) -> Self {
        let mut events = Vec::new();
        while trial.exit().is_none() {
            events.push(trial.next(LIMIT).expect("an event before the limit"));
        }
        Self::finish(trial, Duration::ZERO, events)
    }

    pub(crate) fn finish(trial: &mut Trial, grace: Duration, mut events: Vec<TrialEvent>) -> Self {
        let finished = trial.finish(grace, |event| events.push(event));
        Self { events, finished }
    }

    pub(crate) fn status(&self) -> ExitStatus {
        self.finished.exit.expect("has ended").status
    }

    pub(crate) fn lines(&self) -> Vec<&Line> {
        self.events.iter().filter_map(|event| if let TrialEvent::Line(line) = event { Some(line) } else { None }).collect()
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.lines().into_iter().map(|line| line.text().into_owned()).collect()
    }

    pub(crate) fn position(&self, wanted: impl Fn(&TrialEvent) -> bool) -> Option<usize> {
        self.events.iter().position(wanted)
    }
}

/// Waits until a trial says why it is not ready with these words; it must not become ready meanwhile.
pub(crate) fn wait_unready(trial: &mut Trial, events: &mut Vec<TrialEvent>, words: &str) {
    let started = Instant::now();
    while !trial.unready().is_some_and(|why| why.contains(words)) {
        assert!(started.elapsed() < LIMIT, "never said `{words}`, but {:?}; events: {events:?}", trial.unready());
        if let Some(event) = trial.next(Duration::from_millis(5)) {
            assert!(!is_ready(&event), "ready before it said `{words}`: {event:?}");
            events.push(event);
        }
    }
}

pub(crate) fn is_ready(event: &TrialEvent) -> bool {
    matches!(event, TrialEvent::Ready(_))
}

pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// The proof among the events.
pub(crate) fn proof(events: &[TrialEvent]) -> &Readiness {
    events.iter().find_map(|event| if let TrialEvent::Ready(ready) = event { Some(ready.as_ref()) } else { None }).expect("is ready")
}

/// Waits for an event and returns it; what came before goes to `events`.
pub(crate) fn wait_for(trial: &mut Trial, events: &mut Vec<TrialEvent>, wanted: impl Fn(&TrialEvent) -> bool) {
    loop {
        let event = trial.next(LIMIT).unwrap_or_else(|| panic!("the event did not come; before it: {events:?}"));
        let found = wanted(&event);
        events.push(event);
        if found {
            return;
        }
    }
}
