//! What readers of engines make of the first cause.

use bystander_model::outcome::Cause;
use bystander_model::reading::{ErrorSeen, Reading};

use super::super::facts::TrialFacts;
use super::super::kept::KeptLine;
use super::super::memory::DEVICE_OOM;
use super::super::reader::CauseReader;
use super::super::traceback::{Raised, Traceback};

/// Asks the readers about every exception of the first cause, the root before what came of it.
pub(super) fn read(facts: &TrialFacts, readers: &[&dyn CauseReader], first: Option<&Traceback>, line: Option<&KeptLine>) -> Vec<Reading> {
    let raised = first.map_or(&[][..], |first| &first.raised);
    let stream = first.map(|first| first.stream);
    let messages: Vec<String> = raised.iter().map(Raised::whole_message).collect();
    let mut errors: Vec<ErrorSeen<'_>> = Vec::new();
    for (raised, message) in raised.iter().zip(&messages) {
        errors.extend(stream.map(|stream| ErrorSeen { stream, line: raised.at, kind: &raised.kind, message }));
    }
    errors.extend(line.map(|line| ErrorSeen { stream: line.stream, line: line.number, kind: "", message: &line.text }));
    let ask = |reader: &&dyn CauseReader| {
        let known = errors.iter().map(|error| reader.finish(facts.trial, Some(error))).find(|reading| reading.class.is_some());
        known.unwrap_or_else(|| reader.finish(facts.trial, None))
    };
    readers.iter().map(ask).collect()
}

/// Lets a reader that knows the error say more. What an added line broke, or what the kernel or a port did, stays as it is.
pub(super) fn refine(cause: &mut Cause, readings: &[Reading]) {
    let open = cause.class.starts_with("python.") || matches!(cause.class.as_str(), "exit.code" | "exited_early" | "ready_then_died");
    let open = open || cause.class.starts_with("signal.") || matches!(cause.class.as_str(), DEVICE_OOM | "died_under_load");
    let Some(reading) = readings.iter().find(|reading| reading.class.is_some()).filter(|_| open && cause.blames.is_none()) else { return };
    if let Some(class) = &reading.class {
        cause.class.clone_from(class);
    }
    if let Some(text) = &reading.text {
        cause.text = format!("{text}; {}", cause.text);
    }
    for evidence in &reading.evidence {
        // The error line is known to both.
        if !cause.evidence.iter().any(|known| known.kind == evidence.kind && known.place == evidence.place) {
            cause.evidence.push(evidence.clone());
        }
    }
}
