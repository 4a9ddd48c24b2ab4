//! What the log of one start of one server told, engine by engine in the same form: the readers fill it, the rules judge it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bystander_model::budget::Figure;
use bystander_model::memory::Phase;

use super::Asked;
use crate::line::Place;
use crate::version::Versions;

/// Ranks whose lines are kept.
pub const RANKS: usize = 1024;
/// Amounts that are kept of one rank.
pub const AMOUNTS: usize = 96;
/// Messages that are kept of one server.
pub const MESSAGES: usize = 256;
/// Failures that are kept of one server.
pub const FAILURES: usize = 32;
/// The longest text that is kept of a message, in characters.
pub const KEPT: usize = 1200;

/// A value of the configuration in effect, and the line that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// As printed, without quotes.
    pub value: String,
    /// Where.
    pub place: Place,
}

/// The configuration in effect, by the names that the engine gives its fields.
#[derive(Debug, Clone, Default)]
pub struct Settings(BTreeMap<String, Setting>);

impl Settings {
    /// Sets a value, over what an earlier line said.
    pub fn set(&mut self, name: &str, value: &str, place: &Place) {
        self.0.insert(name.to_owned(), Setting { value: value.to_owned(), place: place.clone() });
    }

    /// A setting with its place.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.0.get(name)
    }

    /// A value; `None` for one that is not printed, or is `None`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|setting| setting.value.as_str()).filter(|value| !matches!(*value, "None" | "null" | ""))
    }

    /// A value that is a finite number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.parse::<f64>().ok().filter(|value| value.is_finite())
    }

    /// A count of at least one.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse::<u64>().ok().filter(|value| *value >= 1)
    }

    /// Whether a flag is set; `None` where it is not printed.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            "True" | "true" => Some(true),
            "False" | "false" => Some(false),
            _ => None,
        }
    }

    /// Every setting, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.0.iter().map(|(name, setting)| (name.as_str(), setting))
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A named number that one rank printed: GiB, tokens or a count, as its name says.
#[derive(Debug, Clone, PartialEq)]
pub struct Amount {
    /// What it is; each engine has its own names.
    pub name: &'static str,
    /// The number.
    pub figure: Figure,
    /// Where.
    pub place: Place,
}

/// What one rank printed, in the order in which it did.
#[derive(Debug, Clone, Default)]
pub struct RankFacts {
    /// Its labels as printed, such as `DP0 TP1`; empty where the engine prints none.
    pub label: String,
    /// The tensor-parallel rank, where it is known.
    pub rank: Option<u32>,
    /// The numbers.
    pub amounts: Vec<Amount>,
}

impl RankFacts {
    /// The first number of a name.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&Amount> {
        self.all(name).next()
    }

    /// The last number of a name.
    #[must_use]
    pub fn last(&self, name: &str) -> Option<&Amount> {
        self.all(name).last()
    }

    /// Every number of a name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &Amount> {
        self.amounts.iter().filter(move |amount| amount.name == name)
    }
}

/// A line that rules ask for by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Which one; each engine has its own names.
    pub name: &'static str,
    /// The text, cut to [`KEPT`].
    pub text: String,
    /// Where.
    pub place: Place,
    /// The labels of the rank that printed it.
    pub label: String,
}

/// An error that may have ended the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The type as printed, such as `torch.OutOfMemoryError`; empty for a bare line.
    pub kind: String,
    /// The message, cut to [`KEPT`].
    pub message: String,
    /// Where.
    pub place: Place,
    /// The phase that was the last to begin.
    pub phase: Phase,
    /// The labels of the rank that printed it.
    pub label: String,
    /// Functions of the traceback that rules ask for, such as `EAGLEWorker`; cut to [`KEPT`] characters.
    pub through: String,
}

/// What was read of one start of one server.
#[derive(Debug, Clone)]
pub struct Facts {
    /// `sglang`, `vllm`, or `unknown` where lines of neither stand there.
    pub engine: &'static str,
    /// The file, as it is named in reports.
    pub source: Arc<str>,
    /// The releases that its lines allow.
    pub versions: Versions,
    /// The container its lines were told apart by, where there were several in one log.
    pub container: Option<String>,
    /// Its first line.
    pub begun: Place,
    /// The configuration in effect.
    pub settings: Settings,
    /// Phases in the order in which they began.
    pub phases: Vec<(Phase, Place)>,
    /// Where it said that it serves.
    pub served: Option<Place>,
    /// Ranks in the order of their first line.
    pub ranks: Vec<RankFacts>,
    /// Lines that rules ask for, in order.
    pub messages: Vec<Message>,
    /// Errors in the order of the log, those that only report others left out; empty where it served after them.
    pub failures: Vec<Failure>,
    /// What the user says or wants beside the log.
    pub asked: Asked,
    /// Why its numbers cannot be told from those of another server, where they cannot.
    pub entangled: Option<String>,
}

impl Facts {
    /// Starts with nothing read.
    #[must_use]
    pub fn new(engine: &'static str, begun: &Place) -> Self {
        Self {
            engine,
            source: begun.source.clone(),
            versions: Versions::default(),
            container: None,
            begun: begun.clone(),
            settings: Settings::default(),
            phases: Vec::new(),
            served: None,
            ranks: Vec::new(),
            messages: Vec::new(),
            failures: Vec::new(),
            asked: Asked::default(),
            entangled: None,
        }
    }

    /// Notes that a phase began. Ranks go at their own pace, so one that is not later than the last says nothing; only a draft model may come after the
    /// graphs of its target.
    pub fn begin(&mut self, phase: Phase, place: &Place) {
        let is_new = !self.phases.iter().any(|(known, _)| *known == phase);
        if is_new && (phase > self.phase() || phase == Phase::DraftLoad) {
            self.phases.push((phase, place.clone()));
        }
    }

    /// The last phase that began.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phases.last().map_or(Phase::Unknown, |(phase, _)| *phase)
    }

    /// Keeps a number of a rank.
    pub fn amount(&mut self, label: &str, rank: Option<u32>, name: &'static str, figure: Figure, place: &Place) {
        let at = self.ranks.iter().position(|known| known.label == label).or_else(|| {
            let fits = self.ranks.len() < RANKS;
            fits.then(|| {
                self.ranks.push(RankFacts { label: label.to_owned(), rank, amounts: Vec::new() });
                self.ranks.len() - 1
            })
        });
        if let Some(rank) = at.and_then(|at| self.ranks.get_mut(at)).filter(|rank| rank.amounts.len() < AMOUNTS) {
            rank.amounts.push(Amount { name, figure, place: place.clone() });
        }
    }

    /// Keeps a message in place of the last one of its name.
    pub fn renew(&mut self, name: &'static str, text: &str, label: &str, place: &Place) {
        self.messages.retain(|message| message.name != name);
        self.note(name, text, label, place);
    }

    /// Keeps a message.
    pub fn note(&mut self, name: &'static str, text: &str, label: &str, place: &Place) {
        if self.messages.len() < MESSAGES {
            self.messages.push(Message { name, text: text.chars().take(KEPT).collect(), place: place.clone(), label: label.to_owned() });
        }
    }

    /// The first message of a name.
    #[must_use]
    pub fn message(&self, name: &str) -> Option<&Message> {
        self.messages_of(name).next()
    }

    /// Every message of a name.
    pub fn messages_of(&self, name: &str) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(move |message| message.name == name)
    }

    /// The first failure, which is the cause of those after it.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failures.first()
    }

    /// The least of a number over the ranks that printed it, with how many did.
    #[must_use]
    pub fn least(&self, pick: impl Fn(&RankFacts) -> Option<&Amount>) -> Option<(&RankFacts, &Amount, usize)> {
        let all = || self.ranks.iter().filter_map(|rank| pick(rank).map(|amount| (rank, amount)));
        let (rank, amount) = all().min_by(|a, b| a.1.figure.value.total_cmp(&b.1.figure.value))?;
        Some((rank, amount, all().count()))
    }
}
