//! What the lines of one server's log told, with where each was read.

use std::collections::BTreeMap;

use bystander_model::budget::Figure;
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::TrialId;
use bystander_model::reading::LogLine;

use super::lines::{self, Line, Pool};

/// Ranks whose lines are kept.
const RANKS: usize = 1024;
/// The longest text that is kept of a line.
const KEPT: usize = 240;

/// A line's place and text.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    stream: Stream,
    line: u64,
    text: String,
}

impl Source {
    /// Keeps a line; of a long one only the part from `from` on.
    pub(crate) fn of(line: &LogLine<'_>, from: usize) -> Self {
        let text: String = line.text.get(from..).unwrap_or(line.text).chars().take(KEPT).collect();
        Self { stream: line.stream, line: line.number, text }
    }

    /// Keeps a line whole, as far as it is read.
    pub(crate) fn whole(line: &LogLine<'_>) -> Self {
        Self { stream: line.stream, line: line.number, text: line.text.to_owned() }
    }

    /// The line as evidence.
    pub(crate) fn evidence(&self, trial: TrialId) -> Evidence {
        Evidence::log(trial, self.stream, self.line, self.text.clone())
    }
}

/// Something read from a line.
#[derive(Debug, Clone)]
pub(crate) struct Read<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

/// The lines of one rank.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rank {
    /// Free memory before the weights.
    pub(crate) total: Option<Read<Figure>>,
    /// Free memory after the weights.
    pub(crate) available: Option<Read<Figure>>,
}

/// The arguments as the engine printed them, that is, after it had changed them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments {
    pub(crate) fraction: Option<f64>,
    pub(crate) ranks_here: Option<usize>,
    pub(crate) cap: Option<f64>,
    pub(crate) page: Option<f64>,
    pub(crate) speculative: bool,
    pub(crate) device: Option<String>,
}

impl Arguments {
    fn parse(text: &str) -> Self {
        let number = |name: &str| lines::argument(text, name).and_then(|value| value.parse::<f64>().ok()).filter(|value| value.is_finite());
        let count = |name: &str| number(name).filter(|value| *value >= 1.0).map(|value| value as usize);
        let nodes = count("nnodes").unwrap_or(1);
        Self {
            fraction: number("mem_fraction_static"),
            ranks_here: count("tp_size").map(|tp| tp.saturating_mul(count("pp_size").unwrap_or(1)).div_ceil(nodes)),
            cap: number("max_total_tokens"),
            page: number("page_size").filter(|page| *page >= 1.0),
            speculative: lines::argument(text, "speculative_algorithm").is_some_and(|value| value != "None"),
            device: lines::argument(text, "device").map(str::to_owned),
        }
    }
}

/// How far the start has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    BeforeWeights,
    Weights,
    Sizing,
    AfterPools,
    Graphs,
    Serving,
}

impl Phase {
    /// The phase in words that fit after "during".
    pub(crate) fn words(self) -> &'static str {
        match self {
            Phase::BeforeWeights => "the start before the weights",
            Phase::Weights => "the load of the weights",
            Phase::Sizing => "the sizing and allocation of the KV cache",
            Phase::AfterPools => "what follows the allocation of the KV cache",
            Phase::Graphs => "the capture of CUDA graphs",
            Phase::Serving => "serving",
        }
    }
}

/// Everything that the log told.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) arguments: Option<Read<Arguments>>,
    pub(crate) current_fraction: Option<Read<f64>>,
    pub(crate) ranks: BTreeMap<String, Rank>,
    pub(crate) pool: Option<Read<Pool>>,
    pub(crate) tokens: Option<Read<f64>>,
    pub(crate) profiled: Option<Read<f64>>,
    pub(crate) pool_end: Option<Read<Figure>>,
    pub(crate) graphs_ended: bool,
    pub(crate) hybrid: Option<Source>,
    pub(crate) phase: Phase,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            arguments: None,
            current_fraction: None,
            ranks: BTreeMap::new(),
            pool: None,
            tokens: None,
            profiled: None,
            pool_end: None,
            graphs_ended: false,
            hybrid: None,
            phase: Phase::BeforeWeights,
        }
    }
}

impl Seen {
    /// Takes a line.
    pub(crate) fn line(&mut self, line: &LogLine<'_>) {
        if self.arguments.is_none() && line.text.contains("server_args=") {
            let from = line.text.find("mem_fraction_static").unwrap_or(0);
            self.arguments = Some(Read { value: Arguments::parse(line.text), source: Source::of(line, from) });
        }
        if self.current_fraction.is_none()
            && let Some(at) = line.text.find("Current value: ")
            && let Some(value) = lines::after(&line.text[at..], "mem_fraction_static=")
        {
            self.current_fraction = Some(Read { value: value.value, source: Source::of(line, 0) });
        }
        if let Some(found) = lines::read(line.text) {
            self.take(line, found);
        }
    }

    fn take(&mut self, line: &LogLine<'_>, found: Line) {
        fn keep<T>(place: &mut Option<Read<T>>, line: &LogLine<'_>, value: T) {
            place.get_or_insert_with(|| Read { value, source: Source::of(line, 0) });
        }
        match found {
            Line::LoadBegin(figure) => self.rank(line, Phase::Weights, |rank| keep(&mut rank.total, line, figure)),
            Line::LoadEnd(figure) => self.rank(line, Phase::Sizing, |rank| keep(&mut rank.available, line, figure)),
            Line::Pool(pool) => {
                keep(&mut self.pool, line, pool);
                self.reach(Phase::Sizing);
            }
            Line::PoolEnd(figure) => {
                keep(&mut self.pool_end, line, figure);
                self.reach(Phase::AfterPools);
            }
            Line::Final { tokens, .. } => {
                keep(&mut self.tokens, line, tokens);
                self.reach(Phase::AfterPools);
            }
            Line::Capped { profiled } => keep(&mut self.profiled, line, profiled),
            Line::Graphs { ended } => {
                self.graphs_ended |= ended;
                self.reach(Phase::Graphs);
            }
            Line::Hybrid => self.hybrid = self.hybrid.take().or_else(|| Some(Source::of(line, 0))),
            Line::Ready => self.reach(Phase::Serving),
        }
    }

    /// Whether any of the lines are SGLang's own.
    pub(crate) fn is_sglang(&self) -> bool {
        self.arguments.is_some() || self.hybrid.is_some() || self.profiled.is_some() || self.phase > Phase::BeforeWeights
    }

    fn reach(&mut self, phase: Phase) {
        self.phase = self.phase.max(phase);
    }

    fn rank(&mut self, line: &LogLine<'_>, phase: Phase, take: impl FnOnce(&mut Rank)) {
        self.reach(phase);
        let labels = lines::labels(line.text);
        if self.ranks.len() < RANKS || self.ranks.contains_key(labels) {
            take(self.ranks.entry(labels.to_owned()).or_default());
        }
    }

    /// The least of a figure over the ranks that printed it: the rank, the figure, how many printed it.
    pub(crate) fn least(&self, pick: impl Fn(&Rank) -> Option<&Read<Figure>>) -> Option<(&str, &Read<Figure>, usize)> {
        let all = || self.ranks.iter().filter_map(|(labels, rank)| pick(rank).map(|read| (labels.as_str(), read)));
        let (labels, read) = all().min_by(|a, b| a.1.value.value.total_cmp(&b.1.value.value))?;
        Some((labels, read, all().count()))
    }
}
