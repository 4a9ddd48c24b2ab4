//! Prompts that are random share nothing, so a prefix cache that had many of their tokens had read them in another launch, or in a warm-up: their
//! times and rates say how warm a cache was. Source of the share: reports of benchmarks whose times were off by factors that no constant corrects.

use bystander_model::cell::Cell;
use bystander_model::engine::RANDOM_PREFIX_HITS;
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::traffic::Prompt;

use super::prediction::value;
use crate::ledger::{Ledger, TrialRecord};
use crate::plan::MetricSource;

/// A launch in which random prompts came from a cache.
pub(super) struct Cached {
    /// In a sentence, without its full stop.
    pub(super) text: String,
    /// Who counted it.
    pub(super) evidence: Evidence,
}

/// Finds the launch of some cells that makes a metric of time or rate incomparable; `None` where there is none, where the metric is of something else, or
/// where prompts are not declared to be random.
pub(super) fn cached<'a>(ledger: &'a Ledger, name: &str, cells: impl IntoIterator<Item = &'a Cell>) -> Option<Cached> {
    let load = ledger.plan.workload.as_ref()?.traffic.as_ref()?;
    if !matches!(load.prompt, Prompt::Random { .. }) || !is_of_time(&ledger.plan.metrics.get(name)?.source) {
        return None;
    }
    let launches = cells.into_iter().flat_map(|cell| ledger.data(cell)).filter(|trial| value(trial, name).is_some());
    let (share, counted, trial) = launches
        .filter_map(|trial| share(trial).map(|(share, counted)| (share, counted, trial)))
        .filter(|(share, ..)| *share > RANDOM_PREFIX_HITS)
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(Cached {
        text: format!(
            "prompts are random, and in trial {} {:.1} % of their tokens came from the prefix cache; above {:.0} % times and rates are not comparable",
            trial.id,
            share * 100.0,
            RANDOM_PREFIX_HITS * 100.0
        ),
        evidence: Evidence { trial: Some(trial.id), kind: EvidenceKind::Http, place: "prefix cache".to_owned(), text: counted },
    })
}

/// The share of the prompts' tokens that came from the cache, by the engine's own metrics or by the usage in its answers, whichever saw more.
fn share(trial: &TrialRecord) -> Option<(f64, String)> {
    let end = trial.end.as_ref()?;
    let of_engine = end.engine.as_deref().and_then(|engine| {
        let figure = engine.figures.get("prefix_hit_rate")?;
        Some((figure.value?, figure.from.clone()))
    });
    let of_answers = end.traffic.as_deref().and_then(|summary| {
        let (cached, input) = (summary.cached_tokens?, summary.input_tokens.filter(|input| *input > 0)?);
        Some((cached as f64 / input as f64, format!("{cached} of {input} prompt tokens by the usage in its answers")))
    });
    of_engine.into_iter().chain(of_answers).max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Whether a metric is a time or a rate of requests, which a warm cache shortens or raises.
pub(super) fn is_of_time(source: &MetricSource) -> bool {
    const TRAFFIC: [&str; 6] = ["ttft_", "itl_", "tpot_", "e2e_", "tokens_per_s", "requests_per_s"];
    const SERIES: [&str; 5] = ["time", "seconds", "latency", "throughput", "duration"];
    match source {
        MetricSource::Traffic { name } => TRAFFIC.iter().any(|start| name.starts_with(start)),
        MetricSource::Prometheus { series, .. } => SERIES.iter().any(|word| series.name.contains(word)),
        MetricSource::WallSeconds => true,
        _ => false,
    }
}
