//! From the facts of one start to its explanation: ledger, formula, cause, advice, state.

use bystander_model::memory::{Cause, CauseClass, Certainty, Formula, MixedIn, Phase, Rank, Server, State};

use super::causes::SHARED;
use super::causes::platform::notes;
use super::facts::Settings;
use super::spoken::{KILLED, OOM_KILLED};
use super::{Case, ENGINES, Engine, Facts, Found};
use crate::line::Place;

/// Explains one start of one server.
#[must_use]
pub fn judge(facts: &Facts) -> Server {
    let bare;
    let facts = match &facts.entangled {
        // Numbers of two servers that cannot be told apart are nobody's, and neither are their arguments.
        Some(_) => {
            bare = Facts { ranks: Vec::new(), settings: Settings::default(), ..facts.clone() };
            &bare
        }
        None => facts,
    };
    let engine = ENGINES.iter().find(|engine| engine.name == facts.engine).copied();
    let ranks: Vec<Rank> = engine.map_or_else(Vec::new, |engine| (engine.ledger)(facts));
    let formula: Option<Formula> = engine.and_then(|engine| (engine.formula)(facts));
    let (found, mut contradictions) = find(engine, &Case { facts, ranks: &ranks, formula: formula.as_ref() });
    contradictions.extend(engine.map_or_else(Vec::new, |engine| (engine.contradictions)(facts)));
    contradictions.extend(facts.entangled.clone());
    contradictions.dedup();
    let state = state(facts, found.as_ref());
    let advice = found.as_ref().map_or_else(Vec::new, |found| found.advice.clone());
    let cause =
        found.map(|found| Cause { class: found.class, certainty: found.certainty, text: found.text, evidence: each_once(&found.evidence) });
    Server {
        engine: facts.engine.to_owned(),
        version: facts.versions.range(),
        source: facts.source.to_string(),
        mixed_in: facts.container.clone().map(|value| MixedIn { by: "container".to_owned(), value }),
        phase: reached(facts),
        state,
        answer: answer(facts, state, cause.as_ref()),
        ranks,
        formula,
        cause,
        advice,
        contradictions,
        not_modelled: engine.map_or_else(Vec::new, |engine| (engine.not_modelled)(facts)).into_iter().chain(notes(facts)).collect(),
    }
}

/// How far it came: to what failed first, where something did, whatever other ranks printed meanwhile.
fn reached(facts: &Facts) -> Phase {
    facts.failure().map(|failure| failure.phase).filter(|phase| *phase > Phase::Unknown).unwrap_or_else(|| facts.phase())
}

/// The first cause that a rule finds, and the contradictions that all of them find.
fn find(engine: Option<&Engine>, case: &Case<'_>) -> (Option<Found>, Vec<String>) {
    let rules = engine.map_or(&[] as &[_], |engine| engine.rules).iter().chain(SHARED);
    let mut first: Option<Found> = None;
    let mut contradictions = Vec::new();
    for found in rules.filter_map(|rule| rule(case)) {
        contradictions.extend(found.contradictions.iter().cloned());
        first.get_or_insert(found);
    }
    (first.or_else(|| unknown(case.facts)), contradictions)
}

/// What is left to say of a failure that no rule knows.
fn unknown(facts: &Facts) -> Option<Found> {
    let failure = facts.failure()?;
    let kind = if failure.kind.is_empty() { "an error" } else { failure.kind.as_str() };
    let said: String = failure.message.chars().take(160).collect();
    let said = if said.trim().is_empty() { String::new() } else { format!(": {}", said.trim()) };
    let text = format!("It ended with {kind} during {}{said}; nothing here says that GPU memory is why", phase_words(failure.phase));
    Some(Found::new(CauseClass::Unknown, Certainty::Possible, text, [failure.place.clone()]))
}

/// How it ended.
fn state(facts: &Facts, found: Option<&Found>) -> State {
    let class = found.map(|found| found.class);
    let was_killed = facts.message(KILLED).or_else(|| facts.message(OOM_KILLED)).is_some();
    let starves = found.is_some_and(|found| !found.is_usable)
        && matches!(class, Some(CauseClass::KvBelowContext | CauseClass::PoolUndersized | CauseClass::HybridStateCache));
    match (facts.failure().is_some() || was_killed, facts.served.is_some()) {
        (true, _) => State::Failed,
        (false, true) if starves => State::Starved,
        (false, true) => State::Ready,
        (false, false) => State::Unknown,
    }
}

fn answer(facts: &Facts, state: State, cause: Option<&Cause>) -> String {
    if let Some(cause) = cause {
        return format!("{}.", cause.text.trim_end_matches('.'));
    }
    if let Some(entangled) = facts.entangled.as_ref().filter(|_| state == State::Unknown) {
        return format!("{}.", entangled.trim_end_matches('.'));
    }
    let phase = phase_words(reached(facts));
    match state {
        State::Ready | State::Starved => "It serves.".to_owned(),
        State::Failed => format!("It was ended during {phase}; no line says why."),
        State::Unknown => format!("The log ends during {phase}; up to there nothing failed."),
    }
}

/// A phase in words that fit after "during".
#[must_use]
pub fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Unknown => "a phase that no line names",
        Phase::ParallelInit => "the start before the weights",
        Phase::WeightLoad => "the load of the weights",
        Phase::PoolSizing => "the sizing and allocation of the KV cache",
        Phase::DraftLoad => "the load of the draft model",
        Phase::GraphCapture => "the capture of CUDA graphs",
        Phase::WarmUp => "the first requests",
        Phase::Serving => "serving",
    }
}

/// Why a server is of little use though it serves, with what to do; nothing of any other.
#[must_use]
pub fn of_little_use(server: Server) -> Option<String> {
    let server = Some(server).filter(|server| server.state == State::Starved)?;
    let advice = server.advice.first().map_or_else(String::new, |advice| format!(" {}", advice.text));
    Some(format!("{}{advice}", server.answer))
}

/// Places, each said once: one line may show several things.
fn each_once(places: &[Place]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for place in places.iter().map(ToString::to_string) {
        if !said.contains(&place) {
            said.push(place);
        }
    }
    said
}
