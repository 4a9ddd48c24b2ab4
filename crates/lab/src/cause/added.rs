//! Exceptions on lines that an edit added, whatever came of them.
//!
//! A thread, a child or a handler that catches may take such an exception, and the program goes on and completes: it has not done what it does without
//! the edit, and no exit code tells.

use bystander_model::evidence::Evidence;
use bystander_model::outcome::RaisedByInstrument;

use super::blame::{Blame, Spot, blame};
use super::clip::clip;
use super::facts::TrialFacts;
use super::program::short_file;
use super::signature::signature;
use super::traceback::Traceback;

/// The longest headline in a text, in bytes.
const HEADLINE: usize = 300;
/// Different exceptions of one trial that are kept.
const MOST: usize = 8;
/// Signatures of one trial that are kept.
const PRINTED: usize = 48;

/// Exceptions that are a way to end, and may come on any line.
const ASKED_TO_END: [&str; 4] = ["KeyboardInterrupt", "SystemExit", "GeneratorExit", "CancelledError"];

/// The exceptions on lines that edits added, each once, in the order of time.
pub(super) fn raised_on_added(facts: &TrialFacts) -> Vec<RaisedByInstrument> {
    let mut found: Vec<RaisedByInstrument> = Vec::new();
    if facts.edits.is_empty() {
        return found;
    }
    for traceback in before_the_end(facts).filter(|traceback| !ASKED_TO_END.contains(&traceback.root().short_kind())) {
        let Some(blame) = blame(traceback, &facts.edits, &facts.place) else { continue };
        let raised = told(facts, traceback, &blame);
        match found.iter().position(|known| known.instrument == raised.instrument && known.signature == raised.signature) {
            Some(at) if raised.cut_short && !found[at].cut_short => found[at] = raised,
            None if found.len() < MOST => found.push(raised),
            Some(_) | None => {}
        }
    }
    found
}

/// The signatures of the tracebacks that a trial printed, each once.
pub(super) fn printed(facts: &TrialFacts) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for traceback in before_the_end(facts) {
        let signature = signature(traceback, &facts.place);
        if found.len() < PRINTED && !found.contains(&signature) {
            found.push(signature);
        }
    }
    found
}

/// Whole tracebacks, without what came of being told to end.
fn before_the_end(facts: &TrialFacts) -> impl Iterator<Item = &Traceback> {
    let until = facts.stopped.as_ref().map(|stopped| stopped.at);
    let in_time = move |traceback: &&Traceback| traceback.complete && until.is_none_or(|until| traceback.time <= until);
    facts.scan.tracebacks.iter().filter(in_time)
}

fn told(facts: &TrialFacts, traceback: &Traceback, blame: &Blame) -> RaisedByInstrument {
    let frame = &blame.frame;
    let instrument = &blame.instrument;
    let how = match blame.spot {
        Spot::Innermost => format!("raised on a line that {instrument} added"),
        Spot::Outer => format!("called from a line that {instrument} added"),
        Spot::Later => format!("a line that {instrument} added is in the stack of what came of it"),
    };
    let function = frame.function.as_deref().map_or_else(String::new, |function| format!("in {function}, "));
    let by = traceback.rank.as_deref().filter(|_| !traceback.interleaved).map_or_else(String::new, |rank| format!("; in {rank}"));
    let headline = clip(&traceback.root().headline(), HEADLINE).to_owned();
    let text = format!("{headline} ({function}{}:{}), {how}{by}", short_file(&frame.file), frame.line);
    let at = Evidence::log(facts.trial, traceback.stream, frame.at, format!("File \"{}\", line {}", frame.file, frame.line));
    RaisedByInstrument {
        instrument: instrument.clone(),
        cut_short: is_cut_short(traceback, blame),
        signature: signature(traceback, &facts.place),
        evidence: vec![Evidence::log(facts.trial, traceback.stream, traceback.root().at, format!("{headline}, {how}")), at],
        text,
    }
}

/// Whether the exception left the function that holds the line, or ended its thread or process. A traceback begins with the function that caught the
/// exception: where that is the line's own, the edit itself may have caught what it raised. A file that does not parse does nothing at all.
fn is_cut_short(traceback: &Traceback, blame: &Blame) -> bool {
    let of_root = matches!(blame.spot, Spot::Innermost | Spot::Outer);
    let announced = traceback.bare && traceback.rank.is_some() && traceback.raised.len() == 1;
    let does_not_parse = blame.frame.function.is_none();
    of_root && (announced || does_not_parse || traceback.root().frames.first().is_some_and(|first| first.at != blame.frame.at))
}
