//! The workload: a command against the ready program, or built-in traffic, in a tree of its own with the same guarantees.

mod course;
mod load;

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bystander_lab::cause::WorkloadEnd;
use bystander_lab::plan::Workload;
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::TrialId;
use bystander_model::reading::LogBlock;
use bystander_model::traffic::Summary;
use bystander_supervise::Canceller;
use bystander_supervise::command::{Command, KeeperProgram};
use bystander_supervise::output::{self as supervise, Line, OutputPaths, StreamSummary};
use bystander_supervise::ready::GenerateCheck;
use bystander_supervise::trial::event::TrialEvent;
use bystander_supervise::trial::{AtLimit, StartError, Trial, TrialSpec};
use bystander_traffic::hold;

use crate::{metrics, secrets};

/// Lines at the end of many among which the last with a word in it is sought.
const LAST: usize = 100;

/// A running workload.
pub(super) struct Running {
    trial: Trial,
    deadline: Instant,
    paths: OutputPaths,
    lines: Lines,
    end: Option<WorkloadEnd>,
    /// Where built-in traffic leaves its results.
    results: Option<PathBuf>,
    /// Whether it was told to go on after its warm-up.
    went_on: bool,
}

fn started(spec: TrialSpec) -> Result<Trial, StartError> {
    let mut trial = Trial::start(spec)?;
    trial.in_blocks();
    Ok(trial)
}

/// What is read of its output while it passes.
struct Lines {
    trial: TrialId,
    /// The last line on standard output and on standard error that says something.
    last: [Option<Evidence>; 2],
}

impl Lines {
    fn read(&mut self, line: &Line, metrics: &mut metrics::Reader) {
        let (stream, text) = (line.stream.of_workload(), line.text());
        metrics.line(stream, line.number, &text);
        if !text.trim().is_empty() {
            self.last[usize::from(stream == Stream::WorkloadStderr)] = Some(Evidence::log(self.trial, stream, line.number, text.trim()));
        }
    }

    fn read_many(&mut self, lines: &supervise::Lines, metrics: &mut metrics::Reader) {
        let (stream, text) = (lines.stream.of_workload(), lines.text());
        let block = LogBlock { stream, first: lines.first, time: lines.time_ns, text: &text };
        metrics.block(&block);
        // Lines without a word at the end are few; those before them are not looked at.
        if let Some(line) = block.last(LAST).filter(|line| !line.text.trim().is_empty()).last() {
            self.last[usize::from(stream == Stream::WorkloadStderr)] =
                Some(Evidence::log(self.trial, stream, line.number, line.text.trim()));
        }
    }

    fn end(&self, exit: Option<i32>, signal: Option<i32>, timed_out: bool) -> WorkloadEnd {
        let [stdout, stderr] = &self.last;
        WorkloadEnd { exit, signal, timed_out, last_line: stderr.clone().or_else(|| stdout.clone()) }
    }
}

/// A workload that is over.
pub(super) struct Done {
    pub(super) end: WorkloadEnd,
    /// Its two streams, as they are kept.
    pub(super) outputs: [(Stream, PathBuf, StreamSummary); 2],
    /// What came of built-in traffic, where it came to its end.
    pub(super) traffic: Option<Summary>,
    /// Whom built-in traffic asked, as a question of its own.
    pub(super) asked: Option<GenerateCheck>,
}

impl Running {
    /// Starts it beside the program, with the program's environment. `hidden` are the secrets that its output is kept without.
    pub(super) fn start(
        workload: &Workload,
        trial: TrialId,
        program: &Command,
        fill: &[(&str, &str)],
        folder: &std::path::Path,
        canceller: &Canceller,
        hidden: &[String],
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let paths = OutputPaths { stdout: folder.join(Stream::Workload.name()), stderr: folder.join(Stream::WorkloadStderr.name()) };
        let results = workload.traffic.as_ref().map(|traffic| load::lay(traffic, folder, fill)).transpose()?;
        let argv = match &results {
            Some(results) => load::command(results),
            None => workload.command.iter().map(|word| word.fill(fill).into()).collect(),
        };
        let command = Command {
            argv,
            env: program.env.clone(),
            cwd: program.cwd.clone(),
            marker: program.marker.clone(),
            remove_on_exit: Vec::new(),
        };
        let spec = TrialSpec {
            command,
            keeper: KeeperProgram::this_executable(),
            output: paths.clone(),
            hidden: secrets::bytes(hidden),
            ready: None,
            canceller: canceller.clone(),
            namespace: None,
        };
        Ok(Self {
            trial: started(spec)?,
            deadline: Instant::now() + workload.timeout,
            paths,
            lines: Lines { trial, last: [None, None] },
            end: None,
            results,
            went_on: false,
        })
    }

    /// Whether built-in traffic has warmed the server and waits before its first measured request.
    pub(super) fn is_warm(&self) -> bool {
        self.end.is_none() && !self.went_on && self.results.as_deref().is_some_and(hold::is_held)
    }

    /// Lets built-in traffic go on to its measured requests.
    pub(super) fn go_on(&mut self) {
        self.went_on = true;
        // A client that cannot be told goes on by itself after a while.
        self.results.as_deref().map(hold::release);
    }

    /// Waits a little for it; `true` once it has ended.
    pub(super) fn wait(&mut self, at_most: Duration, metrics: &mut metrics::Reader) -> bool {
        let until = Instant::now() + at_most;
        while self.end.is_none() {
            let now = Instant::now();
            if now >= self.deadline && self.has_told_by_now() {
                self.end = Some(self.lines.end(None, None, true));
                break;
            }
            match self.trial.next(until.saturating_duration_since(now)) {
                Some(TrialEvent::Line(line)) => self.lines.read(&line, metrics),
                Some(TrialEvent::Lines(lines)) => self.lines.read_many(&lines, metrics),
                Some(TrialEvent::Exited(exit)) => {
                    let late = now >= self.deadline && exit.time_ns > self.trial.limit();
                    self.end = Some(match late {
                        true => self.lines.end(None, None, true),
                        false => self.lines.end(exit.status.code(), exit.status.signal(), false),
                    });
                }
                Some(TrialEvent::KeeperLost(_)) => self.end = Some(self.lines.end(None, None, false)),
                Some(_) => {}
                None => break,
            }
            // One that writes without end must not keep the program waiting, nor who wants to stop.
            if Instant::now() >= until {
                break;
            }
        }
        self.end.is_some()
    }

    /// Whether all was told that it had written when this was asked first: at its time limit, or the program's.
    pub(super) fn has_told_by_now(&mut self) -> bool {
        self.trial.limit();
        self.trial.at_limit() != AtLimit::Open
    }

    /// Ends what is left of it.
    pub(super) fn finish(mut self, metrics: &mut metrics::Reader) -> Done {
        let mut lines = self.lines;
        let finished = self.trial.finish(Duration::from_secs(2), |event| match event {
            TrialEvent::Line(line) => lines.read(&line, metrics),
            TrialEvent::Lines(many) => lines.read_many(&many, metrics),
            _ => {}
        });
        // What it said while it was ended counts too: a traceback may come after the exit was seen.
        let end = match (self.end, finished.exit) {
            // Its end had not been heard of yet when its time was over.
            (Some(end), Some(exit)) if end.timed_out && exit.time_ns <= self.trial.limit() => {
                lines.end(exit.status.code(), exit.status.signal(), false)
            }
            (Some(end), _) => lines.end(end.exit, end.signal, end.timed_out),
            (None, Some(exit)) => lines.end(exit.status.code(), exit.status.signal(), false),
            (None, None) => lines.end(None, None, false),
        };
        self.trial.close();
        let OutputPaths { stdout, stderr } = self.paths;
        let traffic = self.results.as_deref().and_then(load::summary);
        let asked = self.results.as_deref().and_then(|results| load::asked(results, traffic.as_ref()));
        Done {
            end,
            traffic,
            asked,
            outputs: [(Stream::Workload, stdout, finished.stdout), (Stream::WorkloadStderr, stderr, finished.stderr)],
        }
    }
}
