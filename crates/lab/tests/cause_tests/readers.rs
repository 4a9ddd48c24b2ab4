//! Readers of engines: what they may say more about, and what they may not touch.

use bystander_lab::cause::{CauseReader, TrialFacts, classify};
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::hit::Hit;
use bystander_model::ids::TrialId;
use bystander_model::outcome::{CauseGroup, Outcome};
use bystander_model::reading::{ErrorSeen, LogLine, Reading};

use crate::feed::{died, edit, ready};

/// Knows one error, as a reader of an engine does.
struct Knows(&'static str);

impl CauseReader for Knows {
    fn name(&self) -> &str {
        "test"
    }

    fn line(&mut self, _: &LogLine<'_>) {}

    fn hit(&mut self, _: &Hit) {}

    fn finish(&self, trial: TrialId, error: Option<&ErrorSeen<'_>>) -> Reading {
        let known = error.filter(|error| error.message.contains(self.0));
        Reading {
            class: known.map(|_| "memory.fraction_below_weights".into()),
            text: known.map(|error| format!("explained at line {}", error.line)),
            evidence: known.map(|_| Evidence::log(trial, Stream::Stderr, 1, "Load weight begin")).into_iter().collect(),
            budget: None,
            configuration: None,
            version: None,
        }
    }
}

fn log(error: &str) -> String {
    format!("Load weight begin\nTraceback (most recent call last):\n  File \"/app/a.py\", line 4, in f\n{error}\n")
}

#[test]
fn a_reader_that_knows_the_error_names_its_class() {
    let found = classify(&died(&log("RuntimeError: Not enough memory"), 1, 9), &[&Knows("other"), &Knows("Not enough memory")]);
    let cause = found.cause.expect("a cause");
    assert_eq!(cause.class, "memory.fraction_below_weights");
    assert!(cause.text.starts_with("explained at line 4; RuntimeError: Not enough memory"), "{}", cause.text);
    assert_eq!(cause.signature, "RuntimeError in app/a.py:f: Not enough memory", "a reader does not change what is the same failure");
    assert_eq!(cause.evidence.last().expect("evidence").place, "stderr:1");
}

#[test]
fn a_reader_is_asked_about_the_whole_chain_and_about_bare_lines() {
    let chain = format!(
        "{}\nDuring handling of the above exception, another exception occurred:\n\n{}",
        log("KeyError: 'x'"),
        log("RuntimeError: Not enough memory")
    );
    let cause = classify(&died(&chain, 1, 99), &[&Knows("Not enough memory")]).cause.expect("a cause");
    assert_eq!(cause.class, "memory.fraction_below_weights");
    let cause = classify(&died("error: Not enough memory\n", 1, 9), &[&Knows("Not enough memory")]).cause.expect("a cause");
    assert_eq!(cause.class, "memory.fraction_below_weights");
}

#[test]
fn what_an_added_line_broke_stays_the_instrument_s() {
    let facts = TrialFacts { edits: vec![edit("/app/a.py", 4..5)], ..died(&log("NameError: Not enough memory"), 1, 9) };
    let cause = classify(&facts, &[&Knows("Not enough memory")]).cause.expect("a cause");
    assert_eq!((cause.class.as_str(), cause.group), ("python.NameError", CauseGroup::Instrument));
}

#[test]
fn a_reader_does_not_turn_success_into_failure() {
    let facts = TrialFacts { ready: ready(30), ..died(&log("RuntimeError: Not enough memory"), 0, 99) };
    let found = classify(&facts, &[&Knows("Not enough memory")]);
    assert_eq!((found.outcome, found.cause), (Outcome::Completed, None));
}
