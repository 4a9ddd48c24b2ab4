//! Which share of requests failed, beside the metrics that depend on them; or that nobody knows.

use crate::ledger::TrialRecord;
use crate::plan::{Metric, MetricSource, Plan};

/// Whether a metric says nothing without the share of requests of the workload that failed.
pub(crate) fn depends(plan: &Plan, name: &str, metric: &Metric) -> bool {
    let is_of_server = matches!(metric.source, MetricSource::Traffic { .. } | MetricSource::Engine { .. });
    let is_told = plan.request_counts().is_some() && metric.source.is_of_workload();
    (is_of_server || is_told) && !plan.tells_requests(name)
}

/// What came of the requests of some launches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Failed {
    /// They were counted.
    Counted {
        /// Requests that were sent.
        sent: u64,
        /// Those of them that failed.
        failed: u64,
    },
    /// A share per launch is all that is told; this is their mean.
    Share(f64),
}

impl Failed {
    /// The share, from 0 to 1.
    pub(crate) fn share(self) -> f64 {
        match self {
            Self::Counted { sent, failed } => failed as f64 / sent as f64,
            Self::Share(share) => share,
        }
    }
}

/// What came of the requests over some launches: of all of them together where they were counted, else the mean of the launches' shares.
/// `None` where no traffic was sent, or nothing tells.
pub(crate) fn failed(trials: &[&TrialRecord]) -> Option<Failed> {
    let ends = || trials.iter().filter_map(|trial| trial.end.as_ref());
    let of_traffic = ends().filter_map(|end| end.traffic.as_deref()).map(|one| (one.sent, one.sent.saturating_sub(one.completed)));
    let told = || ends().filter_map(|end| end.requests.as_deref());
    let of_command = told().filter_map(|one| Some((one.sent?, one.failed?)));
    let (sent, failed) = of_traffic.chain(of_command).fold((0, 0), |all: (u64, u64), one| (all.0 + one.0, all.1 + one.1));
    if sent > 0 {
        return Some(Failed::Counted { sent, failed });
    }
    let shares: Vec<f64> = told().filter_map(|one| one.error_rate).collect();
    (!shares.is_empty()).then(|| Failed::Share(shares.iter().sum::<f64>() / shares.len() as f64))
}

/// Says of which metrics nobody knows how many of the requests behind them failed: a command's, of which the file does not say what tells it.
pub(super) fn unrated(plan: &Plan) -> Option<String> {
    let workload = plan.workload.as_ref().filter(|workload| workload.traffic.is_none() && workload.requests.is_none())?;
    let is_of_workload = |metric: &Metric| {
        matches!(metric.source, MetricSource::Workload { .. } | MetricSource::WorkloadJson { .. } | MetricSource::Engine { .. })
    };
    let names: Vec<&str> = plan.metrics.iter().filter(|(_, metric)| is_of_workload(metric)).map(|(name, _)| name.as_str()).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty() && !workload.command.is_empty()).then(|| {
        format!(
            "How many requests of the workload failed is not known, so {} {are} without an error rate: name what tells it in [workload] (`failed` and `requests`, or `error_rate`)",
            names.join(", ")
        )
    })
}
