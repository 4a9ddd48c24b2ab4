//! What was seen of a trial, from which its end is told.

use std::path::PathBuf;

use bystander_lab::cause::{self, CauseReader, TrialFacts};
use bystander_lab::place::TrialOrder;
use bystander_lab::plan::Plan;
use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::samples::Samples;
use bystander_model::traffic::Summary;
use bystander_supervise::output::{OutputPaths, StreamSummary};

use crate::metrics;

/// What was seen of a trial.
pub(super) struct Seen {
    pub(super) facts: TrialFacts,
    pub(super) readers: Vec<Box<dyn CauseReader>>,
    pub(super) metrics: metrics::Reader,
    pub(super) wall_s: f64,
    pub(super) peak_rss_bytes: Option<u64>,
    /// What samples have seen; `None` where nothing was launched.
    pub(super) samples: Option<Samples>,
    pub(super) started: Option<TimeNs>,
    pub(super) streams: Option<[StreamSummary; 2]>,
    /// The file of stacks, where some were taken.
    pub(super) stacks: Option<(Stream, PathBuf, StreamSummary)>,
    pub(super) workload: Option<[(Stream, PathBuf, StreamSummary); 2]>,
    /// What came of built-in traffic.
    pub(super) traffic: Option<Summary>,
    /// An edit that nobody read.
    pub(super) unread: Option<cause::Contamination>,
}

impl Seen {
    /// The kept output files.
    pub(super) fn outputs(&self, paths: &OutputPaths) -> Vec<(Stream, PathBuf, StreamSummary)> {
        let own = self
            .streams
            .into_iter()
            .flat_map(|[out, err]| [(Stream::Stdout, paths.stdout.clone(), out), (Stream::Stderr, paths.stderr.clone(), err)]);
        own.chain(self.workload.iter().flatten().cloned()).chain(self.stacks.clone()).collect()
    }

    /// A trial that was never launched: its instruments could not go in.
    pub(super) fn of_refused(plan: &Plan, order: &TrialOrder, refusals: Vec<cause::Refusal>) -> Self {
        let mut seen = Self::empty(plan, order, Vec::new());
        seen.facts.refusals = refusals;
        seen
    }

    /// A trial that was never launched: what was found on the machine makes it no data point.
    pub(super) fn of_contaminated(plan: &Plan, order: &TrialOrder, found: Vec<cause::Contamination>) -> Self {
        let mut seen = Self::empty(plan, order, Vec::new());
        seen.facts.contamination = found;
        seen
    }

    /// A trial that was never launched: the user did not want to wait for its turn.
    pub(super) fn of_interrupted(plan: &Plan, order: &TrialOrder) -> Self {
        let mut seen = Self::empty(plan, order, Vec::new());
        seen.facts.stopped = Some(cause::Stopped { at: TimeNs(0), why: cause::StopWhy::Interrupted });
        seen
    }

    pub(super) fn empty(plan: &Plan, order: &TrialOrder, readers: Vec<Box<dyn CauseReader>>) -> Self {
        let facts = TrialFacts::new(order.trial, cause::Scanner::new().finish(), cause::Place::here(plan.program.cwd.clone()));
        Self {
            facts,
            readers,
            metrics: metrics::Reader::new(plan, order),
            wall_s: 0.0,
            peak_rss_bytes: None,
            samples: None,
            started: None,
            streams: None,
            stacks: None,
            workload: None,
            traffic: None,
            unread: None,
        }
    }
}
