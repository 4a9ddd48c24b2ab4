//! The workload: a command against the ready program, in a tree of its own with the same guarantees.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bystander_lab::cause::WorkloadEnd;
use bystander_lab::plan::Workload;
use bystander_model::evidence::Stream;
use bystander_supervise::Canceller;
use bystander_supervise::command::{Command, KeeperProgram};
use bystander_supervise::output::{OutputPaths, StreamSummary};
use bystander_supervise::trial::event::TrialEvent;
use bystander_supervise::trial::{Trial, TrialSpec};

use crate::{metrics, secrets};

/// The file that keeps its standard error.
pub(super) const STDERR: &str = "workload-stderr";

/// A running workload.
pub(super) struct Running {
    trial: Trial,
    deadline: Instant,
    paths: OutputPaths,
    hidden: Vec<String>,
    end: Option<WorkloadEnd>,
}

/// A workload that is over.
pub(super) struct Done {
    pub(super) end: WorkloadEnd,
    pub(super) output: PathBuf,
    pub(super) summary: StreamSummary,
}

impl Running {
    /// Starts it beside the program, with the program's environment. `hidden` are the secrets that its lines are read without.
    pub(super) fn start(
        workload: &Workload,
        program: &Command,
        fill: &[(&str, &str)],
        folder: &std::path::Path,
        canceller: &Canceller,
        hidden: Vec<String>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let paths = OutputPaths { stdout: folder.join("workload"), stderr: folder.join(STDERR) };
        let command = Command {
            argv: workload.command.iter().map(|word| word.fill(fill).into()).collect(),
            env: program.env.clone(),
            cwd: program.cwd.clone(),
            marker: program.marker.clone(),
            remove_on_exit: Vec::new(),
        };
        let spec = TrialSpec {
            command,
            keeper: KeeperProgram::this_executable(),
            output: paths.clone(),
            ready: None,
            canceller: canceller.clone(),
        };
        Ok(Self { trial: Trial::start(spec)?, deadline: Instant::now() + workload.timeout, paths, hidden, end: None })
    }

    /// Waits a little for it; `true` once it has ended.
    pub(super) fn wait(&mut self, at_most: Duration, metrics: &mut metrics::Reader) -> bool {
        let until = Instant::now() + at_most;
        while self.end.is_none() {
            if Instant::now() >= self.deadline {
                self.end = Some(WorkloadEnd { exit: None, signal: None, timed_out: true });
                break;
            }
            match self.trial.next(until.saturating_duration_since(Instant::now())) {
                Some(TrialEvent::Line(line)) => metrics.line(Stream::Workload, line.number, &secrets::blot(&line.text(), &self.hidden)),
                Some(TrialEvent::Exited(exit)) => {
                    self.end = Some(WorkloadEnd { exit: exit.status.code(), signal: exit.status.signal(), timed_out: false });
                }
                Some(TrialEvent::KeeperLost(_)) => self.end = Some(WorkloadEnd { exit: None, signal: None, timed_out: false }),
                Some(_) => {}
                None => break,
            }
        }
        self.end.is_some()
    }

    /// Ends what is left of it.
    pub(super) fn finish(mut self, metrics: &mut metrics::Reader) -> Done {
        let hidden = self.hidden;
        let finished = self.trial.finish(Duration::from_secs(2), |event| {
            if let TrialEvent::Line(line) = event {
                metrics.line(Stream::Workload, line.number, &secrets::blot(&line.text(), &hidden));
            }
        });
        let exit = finished.exit.map(|exit| WorkloadEnd { exit: exit.status.code(), signal: exit.status.signal(), timed_out: false });
        let end = self.end.or(exit).unwrap_or(WorkloadEnd { exit: None, signal: None, timed_out: false });
        self.trial.close();
        Done { end, output: self.paths.stdout, summary: finished.stdout }
    }
}
