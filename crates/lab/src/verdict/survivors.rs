//! Cells of which different shares of requests failed: what was measured of the requests that were answered is of different requests, and names no winner.
//!
//! A server that refuses its slow requests looks fast. Which requests fail is no accident, so nothing that is computed from the others corrects it.

use bystander_model::cell::Cell;
use bystander_model::evidence::Evidence;

use super::arm::formula;
use super::cached::is_of_time;
use super::prediction::value;
use super::sentence::p_value;
use crate::contrast::ALPHA;
use crate::ledger::{Ledger, TrialRecord};
use crate::plan::{Metric, MetricSource, Plan};
use crate::stats::Tally;
use crate::stats::fisher::fisher;
use crate::stats::quantile::normal_cdf;
use crate::summary::rates::{Failed, depends, failed};

/// Shares that lie farther apart move an average by per cents, whether chance brought them apart or not.
const FAR: f64 = 0.01;
/// Shares that lie nearer move nothing that a run of a few launches tells, whether they differ or not.
const NEAR: f64 = 0.001;

/// The shares of requests that failed in two cells.
pub(super) struct Survivors {
    /// In a sentence, without its full stop.
    pub(super) text: String,
    /// The counts.
    pub(super) evidence: Evidence,
}

/// Finds that two cells are not compared by a metric, since different shares of their requests failed; `None` where the metric is of something else.
pub(super) fn survivors(ledger: &Ledger, name: &str, treated: &Cell, control: &Cell) -> Option<Survivors> {
    if !is_of_answered(&ledger.plan, name, ledger.plan.metrics.get(name)?) {
        return None;
    }
    let of = |cell: &Cell| {
        let shown: Vec<&TrialRecord> = ledger.data(cell).filter(|trial| value(trial, name).is_some()).collect();
        failed(&shown)
    };
    let (with, without) = (of(treated)?, of(control)?);
    let test = p_of(with, without);
    let apart = (with.share() - without.share()).abs();
    if apart < FAR && !(apart >= NEAR && test.is_some_and(|p| p <= ALPHA)) {
        return None;
    }
    let said = |failed: Failed, cell: &Cell| match failed {
        Failed::Counted { sent, failed } => format!("{failed} of {sent} requests of {cell}"),
        Failed::Share(share) => format!("{:.1} % of the requests of {cell}", share * 100.0),
    };
    let (first, second) = (said(with, treated), said(without, control));
    let tested = test.map_or_else(String::new, |p| format!(" ({})", p_value(p)));
    Some(Survivors {
        text: format!("{first} failed and {second}{tested}"),
        evidence: formula("shares of requests that failed", format!("{first}, {second}{tested}")),
    })
}

/// Whether a metric is of requests that were answered, or of how long all of them took: those that fail are not in it, or fail at once.
fn is_of_answered(plan: &Plan, name: &str, metric: &Metric) -> bool {
    let counts = |name: &str| matches!(name, "error_rate" | "sent" | "completed") || name.starts_with("client_lag");
    match &metric.source {
        MetricSource::Traffic { name } => !counts(name),
        source => depends(plan, name, metric) || !plan.tells_requests(name) && is_of_time(source),
    }
}

/// The p of the two shares, where they were counted: Fisher's, or the normal approximation where there are more requests than it takes. Requests of one launch
/// are not independent, so it is smaller than it should be: it takes back answers, and gives none.
fn p_of(with: Failed, without: Failed) -> Option<f64> {
    let (Failed::Counted { sent: n, failed: a }, Failed::Counted { sent: m, failed: b }) = (with, without) else { return None };
    let tally = |failed: u64, sent: u64| Tally::new(u32::try_from(failed).ok()?, u32::try_from(sent).ok()?).ok();
    if let (Some(with), Some(without)) = (tally(a, n), tally(b, m)) {
        return Some(fisher(with, without).two_sided);
    }
    let (n, m) = (n as f64, m as f64);
    let both = (a as f64 + b as f64) / (n + m);
    let error = (both * (1.0 - both) * (1.0 / n + 1.0 / m)).sqrt();
    let z = (a as f64 / n - b as f64 / m).abs() / error;
    z.is_finite().then(|| 2.0 * normal_cdf(-z))
}
