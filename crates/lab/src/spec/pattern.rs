//! Regular expressions in the file: compile errors at their place, and the number of groups.

use std::ops::Range;

use bystander_model::diagnostic::Diagnostic;
use regex::Regex;

use super::item::Item;
use super::problems::Problems;

/// Reads a pattern that compiles.
pub(super) fn read(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Regex> {
    let text = item.some_text(problems)?;
    if let Err(error) = regex_syntax::parse(text) {
        let (place, why) = syntax_error(&error);
        let (span, note) = locate(item, text, &place, problems);
        let problem = Diagnostic::error("spec.bad_pattern", format!("`{}` is no valid pattern: {why}", item.path)).label(why);
        problems.push(&span, note.into_iter().fold(problem, Diagnostic::note));
        return None;
    }
    match Regex::new(text) {
        Ok(regex) => Some(regex),
        Err(error) => {
            let message = format!("`{}` is no pattern that can be used", item.path);
            problems.push(&item.span, Diagnostic::error("spec.bad_pattern", message).note(error.to_string()));
            None
        }
    }
}

/// Reads a pattern with exactly one group, whose match is the value.
pub(super) fn read_with_group(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Regex> {
    let regex = read(item, problems)?;
    let groups = regex.captures_len() - 1;
    if groups == 1 {
        return Some(regex);
    }
    let found = if groups == 0 { String::from("none") } else { groups.to_string() };
    let message = format!("`{}` must have exactly one group, found {found}", item.path);
    let help = match groups {
        0 => r"put the number in a group: `tokens=(\d+)`",
        _ => "write groups that hold no value as `(?:…)`",
    };
    problems.push(&item.span, Diagnostic::error("spec.pattern_groups", message).help(help));
    None
}

fn syntax_error(error: &regex_syntax::Error) -> (Range<usize>, String) {
    match error {
        regex_syntax::Error::Parse(error) => (bytes(error.span()), error.kind().to_string()),
        regex_syntax::Error::Translate(error) => (bytes(error.span()), error.kind().to_string()),
        other => (0..0, other.to_string()),
    }
}

fn bytes(span: &regex_syntax::ast::Span) -> Range<usize> {
    span.start.offset..span.end.offset
}

/// The place in the file, where the string stands there as it is; else the whole string, and the place in words.
fn locate(item: &Item<'_>, text: &str, place: &Range<usize>, problems: &Problems<'_>) -> (Range<usize>, Option<String>) {
    let source = problems.source(&item.span);
    let mut starts = source.match_indices(text);
    if let (Some((start, _)), None) = (starts.next(), starts.next()) {
        let start = item.span.start + start;
        return (start + place.start..start + place.end.max(place.start), None);
    }
    let column = text.get(..place.start).map_or(0, |before| before.chars().count()) + 1;
    (item.span.clone(), Some(format!("at character {column} of the pattern {text}")))
}
