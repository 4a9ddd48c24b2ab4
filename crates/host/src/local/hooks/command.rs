//! One command of a hook: run to its end, its time limit or an interrupt, its output kept, its tree gone.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bystander_model::chain::with_causes;
use bystander_model::hook::{HookOutput, HookRun};
use bystander_supervise::command::{Command, KeeperProgram};
use bystander_supervise::output::{Line, OutputPaths};
use bystander_supervise::trial::event::TrialEvent;
use bystander_supervise::trial::{StartError, Trial, TrialSpec};

use super::{Failed, Hook};
use crate::{proof, secrets};

/// From SIGTERM to SIGKILL for what a command has left, or for one that is out of time.
const GRACE: Duration = Duration::from_secs(2);
/// As much of a last line is told.
const SHOWN_CHARS: usize = 200;

/// A command that is over.
pub(super) struct Done {
    pub(super) run: HookRun,
    pub(super) was_interrupted: bool,
}

/// Why a command is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Itself,
    TimedOut,
    Interrupted,
}

impl Hook<'_> {
    /// Runs one command.
    pub(super) fn run_one(&self, number: u32, argv: Vec<String>) -> Result<Done, Failed> {
        std::fs::create_dir_all(&self.folder)?;
        let file = |stream: &str| self.folder.join(format!("{}-{number}.{stream}", self.name));
        let paths = OutputPaths { stdout: file("stdout"), stderr: file("stderr") };
        let mut hidden = self.hidden.clone();
        hidden.extend(secrets::values(&argv, std::iter::empty()));
        let shown = self.place.masker.command(&argv);
        let asked_before = self.is_last && self.place.canceller.is_cancelled();
        let started = Instant::now();
        let mut run = HookRun {
            hook: self.name.to_owned(),
            command: shown,
            exit: None,
            signal: None,
            failure: None,
            last: Vec::new(),
            wall_s: 0.0,
            outputs: Vec::new(),
        };
        let trial = match Trial::start(self.spec(argv, &paths, &hidden)) {
            Ok(trial) => trial,
            Err(error @ (StartError::Keeper { .. } | StartError::Output(_))) => return Err(error.into()),
            Err(error) => {
                run.failure = Some(format!("{} cannot be started: failed to {}", name_of(&run), with_causes(&error)));
                return Ok(Done { run, was_interrupted: false });
            }
        };
        let mut last = Last::default();
        let (over, trial) = self.wait(trial, started + self.timeout, asked_before, &mut last);
        let mut trial = trial;
        let finished = trial.finish(GRACE, |event| {
            if let TrialEvent::Line(line) = event {
                last.read(&line);
            }
        });
        trial.close();
        run.wall_s = started.elapsed().as_secs_f64();
        let status = finished.exit.map(|exit| exit.status);
        (run.exit, run.signal) = (status.and_then(|status| status.code()), status.and_then(|status| status.signal()));
        run.outputs = [(paths.stdout, finished.stdout), (paths.stderr, finished.stderr)]
            .into_iter()
            .map(|(path, summary)| self.kept(&path, summary.bytes, summary.lines))
            .collect::<Result<_, _>>()?;
        run.failure = self.failure(&run, over, &last);
        if run.failure.is_some() {
            run.last = last.lines();
        }
        Ok(Done { run, was_interrupted: over == Over::Interrupted })
    }

    fn spec(&self, argv: Vec<String>, paths: &OutputPaths, hidden: &[String]) -> TrialSpec {
        TrialSpec {
            command: Command {
                argv: argv.into_iter().map(Into::into).collect(),
                env: self.env.clone(),
                cwd: self.cwd.clone(),
                marker: self.marker.clone(),
                remove_on_exit: Vec::new(),
            },
            keeper: KeeperProgram::this_executable(),
            output: paths.clone(),
            hidden: secrets::bytes(hidden),
            ready: None,
            canceller: self.place.canceller.clone(),
            namespace: None,
        }
    }

    /// Waits for the end of the command. What the user asked for before it began does not end it, what is asked for meanwhile does.
    fn wait(&self, mut trial: Trial, deadline: Instant, mut asked_before: bool, last: &mut Last) -> (Over, Trial) {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return (Over::TimedOut, trial);
            }
            match trial.next(left) {
                Some(TrialEvent::Line(line)) => last.read(&line),
                Some(TrialEvent::Exited(_) | TrialEvent::TreeEmpty(_) | TrialEvent::KeeperLost(_)) => return (Over::Itself, trial),
                Some(TrialEvent::Cancelled) if !std::mem::take(&mut asked_before) => return (Over::Interrupted, trial),
                Some(_) | None => {}
            }
        }
    }

    fn kept(&self, path: &std::path::Path, bytes: u64, lines: u64) -> std::io::Result<HookOutput> {
        let sha256 = proof::sha256(path)?;
        let path: PathBuf = self.place.state.relative(path);
        Ok(HookOutput { path, bytes, lines, sha256 })
    }

    fn failure(&self, run: &HookRun, over: Over, last: &Last) -> Option<String> {
        let how = match (over, run.exit, run.signal) {
            (Over::Itself, Some(0), _) => return None,
            (Over::TimedOut, ..) => format!("was ended after its time limit of {} s", self.timeout.as_secs_f64()),
            (Over::Interrupted, ..) => "was interrupted".to_owned(),
            (Over::Itself, Some(code), _) => format!("exited with {code}"),
            (Over::Itself, None, Some(signal)) => format!("was ended by signal {signal}"),
            (Over::Itself, None, None) => "was lost with its keeper".to_owned(),
        };
        let line = last.told().map_or_else(String::new, |line| format!(": {line}"));
        Some(format!("{} {how}{line}", name_of(run)))
    }
}

/// The command as a sentence names it.
fn name_of(run: &HookRun) -> String {
    format!("`{}`", run.command.join(" "))
}

/// So many of the last lines are kept.
const LAST_LINES: usize = 6;

/// The last lines that say something on each stream.
#[derive(Default)]
struct Last {
    stdout: VecDeque<String>,
    stderr: VecDeque<String>,
}

impl Last {
    fn read(&mut self, line: &Line) {
        let text = line.text();
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let of = if line.stream == bystander_model::evidence::Stream::Stderr { &mut self.stderr } else { &mut self.stdout };
        if of.len() == LAST_LINES {
            of.pop_front();
        }
        of.push_back(text.chars().take(SHOWN_CHARS).collect());
    }

    fn told(&self) -> Option<&str> {
        self.of_stream().back().map(String::as_str)
    }

    fn lines(&self) -> Vec<String> {
        self.of_stream().iter().cloned().collect()
    }

    fn of_stream(&self) -> &VecDeque<String> {
        if self.stderr.is_empty() { &self.stdout } else { &self.stderr }
    }
}
