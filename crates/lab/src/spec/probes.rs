//! `[[probes]]`: places and what to capture there. Whether a place exists is not asked here: the shape of the text is.

use std::ops::Range;

use bystander_model::diagnostic::Diagnostic;
use bystander_model::probe::{Compiled, Delivery, Place, PlaceError, ProbeSpec, Rate, Spans};

use super::instruments::{Declared, declare, spans, tables};
use super::item::Item;
use super::problems::Problems;
use super::schema;
use super::table::Table;
use crate::plan::Probe;

/// Reads every probe that has a name of its own.
pub(super) fn read(root: &Table<'_>, declared: &mut Declared, problems: &mut Problems<'_>) -> Vec<Probe> {
    let tables = tables(root, "probes", schema::PROBE, problems);
    tables.iter().filter_map(|table| probe(table, declared, problems)).collect()
}

fn probe(table: &Table<'_>, declared: &mut Declared, problems: &mut Problems<'_>) -> Option<Probe> {
    let name = declare(table, declared, problems);
    let at = table.require("at", r#"at = "module:function""#, problems).and_then(|item| place(&item, problems));
    let captures = table.get("capture").map(|item| item.texts(problems)).unwrap_or_default();
    let mut spans: Spans = spans(table, ["name", "at", "after", "capture", "if", "rank"]);
    spans.extend(captures.iter().enumerate().map(|(index, (item, _))| (format!("capture.{index}"), item.span.clone())));
    let text = |key: &str, problems: &mut Problems<'_>| table.get(key).and_then(|item| item.some_text(problems)).map(str::to_owned);
    let spec = ProbeSpec {
        after: text("after", problems),
        capture: captures.into_iter().map(|(_, expression)| expression).collect(),
        condition: text("if", problems),
        limit: table.get("limit").and_then(|item| item.integer(1..=u64::MAX, problems)),
        rate: table.get("rate").and_then(|item| rate(&item, problems)),
        rank: text("rank", problems),
        unsafe_capture: table.get("unsafe").and_then(|item| item.flag(problems)).unwrap_or(false),
        compiled: table.get("compiled").and_then(|item| item.word(&Compiled::WORDS, problems)).unwrap_or_default(),
        delivery: table.get("delivery").and_then(|item| item.word(&Delivery::WORDS, problems)).unwrap_or_default(),
        // A place that was refused is told, and the file with it.
        ..at.map(|at| ProbeSpec::new("", at)).unwrap_or_default()
    };
    Some(Probe { spec: ProbeSpec { name: name?, ..spec }, spans })
}

/// Reads a place: `module:function`, with a moment of its calls, or `path/to/file.py:LINE`.
fn place(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Place> {
    let text = item.some_text(problems)?;
    let error = match text.parse::<Place>() {
        Ok(place) => return Some(place),
        Err(error) => error,
    };
    problems.push(&from(item, text, error.offset(), problems), item.invalid(fault(&error)).help(FORMS));
    None
}

const FORMS: &str = "write `module:function`, `module:Class.method@return`, `module:function@raise` or `path/to/file.py:LINE`";

fn fault(error: &PlaceError) -> &'static str {
    match error {
        PlaceError::NoColon { .. } => "names no function and no line",
        PlaceError::Module { module, .. } if module.is_empty() => "names no module before its colon",
        PlaceError::Module { .. } => "names no dotted module before its colon",
        PlaceError::Function { .. } => "names no function after its colon",
        PlaceError::Moment { .. } => "names no moment of a call after its `@`: it is `@entry`, `@return` or `@raise`",
        PlaceError::Line { .. } => "must name a line from 1",
        PlaceError::LineTooLarge { .. } => "names a line number that is too large",
        PlaceError::Lambda { .. } => "names a lambda, which has no name and no statement of its own to probe",
        PlaceError::FunctionOfPath { .. } => "names a function in a path; a function is named by its module",
    }
}

fn rate(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Rate> {
    let text = item.some_text(problems)?;
    match text.parse::<Rate>() {
        Ok(rate) => Some(rate),
        Err(error) => {
            let problem = Diagnostic::error("spec.invalid_value", format!("`{}` is no rate", item.path));
            let span = from(item, text, error.offset, problems);
            problems.push(&span, problem.help("write hits and a span, such as `10/s`, `600/min` or `5/h`"));
            None
        }
    }
}

/// The rest of a text from a byte on, in the file; the whole of it where quotes or escapes make the file's text another one.
fn from(item: &Item<'_>, text: &str, offset: usize, problems: &Problems<'_>) -> Range<usize> {
    let source = problems.source(&item.span);
    let plain = source.len() == text.len() + 2 && source.get(1..=text.len()) == Some(text);
    if plain && offset < text.len() { item.span.start + 1 + offset..item.span.end - 1 } else { item.span.clone() }
}
