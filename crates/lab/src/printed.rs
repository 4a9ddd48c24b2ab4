//! The line in which a program says with which configuration it runs, setting by setting.
//!
//! An engine may say it in two lines: what it was told and what it made of it. Evidence then holds both, one a line of its text, and where both name a
//! setting the later one counts.

use std::collections::BTreeMap;
use std::ops::Range;

use bystander_model::evidence::Evidence;

/// What stands before settings that no brackets enclose.
const BARE: &str = "with config: ";
/// A value of so many bytes is looked for in the rest of the text too; a shorter one would match by chance.
const SOUGHT: usize = 6;

/// One setting by its place in a text.
struct Setting {
    name: Range<usize>,
    value: Range<usize>,
}

/// The settings that a program printed: `NAME=VALUE` or `'NAME': VALUE`, split at commas outside brackets and quotes.
#[must_use]
pub fn settings(line: &Evidence) -> BTreeMap<String, String> {
    let text = &line.text;
    found(text).into_iter().map(|one| (text[one.name].to_owned(), text[one.value].to_owned())).collect()
}

/// Puts what `hide` makes of them in the place of the values of settings whose names are secret. Numbers, empty values, `None` and the like stay.
pub fn hide(line: &mut Evidence, is_secret: impl Fn(&str) -> bool, hide: impl Fn(&str) -> String) {
    let mut sought: Vec<(String, String)> = Vec::new();
    let mut secret: Vec<Range<usize>> = Vec::new();
    secret.extend(found(&line.text).into_iter().filter(|one| is_secret(&line.text[one.name.clone()])).map(|one| one.value));
    // From the end, so that what stands before keeps its place.
    for value in secret.into_iter().rev() {
        let whole = &line.text[value.clone()];
        let bare = whole.trim_matches(['\'', '"']);
        let is_plain = matches!(bare, "" | "None" | "null" | "True" | "False" | "true" | "false" | "[]" | "{}");
        if is_plain || whole == bare && bare.parse::<f64>().is_ok() {
            continue;
        }
        let start = value.start + (whole.len() - whole.trim_start_matches(['\'', '"']).len());
        let (bare, hidden) = (bare.to_owned(), hide(bare));
        line.text.replace_range(start..start + bare.len(), &hidden);
        sought.push((bare, hidden));
    }
    for (bare, hidden) in sought.iter().filter(|(bare, _)| bare.len() >= SOUGHT) {
        line.text = line.text.replace(bare, hidden);
    }
}

/// The settings of every line of a text.
fn found(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = body(line);
        let from = start + body.start;
        found.extend(split_at_commas(&line[body]).into_iter().filter_map(|part| setting(text, from + part.start..from + part.end)));
        start += line.len();
    }
    found
}

/// Where the settings of a line stand: after the words that announce them, else in the longest pair of brackets, which is that of the settings and not that
/// of whoever wrote the line.
fn body(line: &str) -> Range<usize> {
    if let Some(at) = line.find(BARE) {
        return at + BARE.len()..line.len();
    }
    let mut longest = 0..0;
    let mut open = Nesting::default();
    let mut start = None;
    for (at, letter) in line.char_indices() {
        let was = open.depth;
        open.take(letter);
        if was == 0 && open.depth == 1 {
            start = matches!(letter, '(' | '{').then_some(at + 1);
        }
        if let Some(from) = start.filter(|_| was == 1 && open.depth == 0) {
            longest = if at - from > longest.len() { from..at } else { longest };
        }
    }
    // A line that was cut has no end of its brackets.
    match start {
        Some(from) if open.depth > 0 && line.len() - from > longest.len() => from..line.len(),
        _ => longest,
    }
}

/// One setting in `part` of a text; `None` where nothing is named.
fn setting(text: &str, part: Range<usize>) -> Option<Setting> {
    let whole = &text[part.clone()];
    let is_name = |name: &str| !name.trim().is_empty() && name.trim().chars().all(|c| c.is_alphanumeric() || c == '_');
    let split = whole.find('=').filter(|at| is_name(&whole[..*at])).or_else(|| whole.find(':'))?;
    let name = trimmed(text, part.start..part.start + split, |c| c.is_whitespace() || c == '\'' || c == '"');
    Some(Setting { name, value: trimmed(text, part.start + split + 1..part.end, char::is_whitespace) })
}

fn trimmed(text: &str, range: Range<usize>, is_off: impl Fn(char) -> bool) -> Range<usize> {
    let whole = &text[range.clone()];
    let start = range.start + (whole.len() - whole.trim_start_matches(&is_off).len());
    start..start + whole.trim_matches(&is_off).len()
}

/// How deep in brackets a reader is, and in which quotes.
#[derive(Default)]
struct Nesting {
    depth: u32,
    quote: Option<char>,
    escaped: bool,
}

impl Nesting {
    fn take(&mut self, letter: char) {
        match (self.quote, letter) {
            (Some(_), _) if std::mem::take(&mut self.escaped) => {}
            (Some(_), '\\') => self.escaped = true,
            (Some(open), _) if letter == open => self.quote = None,
            (Some(_), _) => {}
            // Outside of brackets is prose, where an apostrophe opens nothing.
            (None, '\'' | '"') if self.depth > 0 => self.quote = Some(letter),
            (None, '(' | '[' | '{') => self.depth += 1,
            (None, ')' | ']' | '}') => self.depth = self.depth.saturating_sub(1),
            (None, _) => {}
        }
    }
}

/// The parts of a body, as ranges of its bytes.
fn split_at_commas(text: &str) -> Vec<Range<usize>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    // The body is inside of its brackets already, whether they stand there or not.
    let mut open = Nesting { depth: 1, ..Nesting::default() };
    for (at, letter) in text.char_indices() {
        open.take(letter);
        if letter == ',' && open.depth == 1 && open.quote.is_none() {
            parts.push(start..at);
            start = at + 1;
        }
    }
    parts.push(start..text.len());
    parts
}

#[cfg(test)]
mod tests {
    use bystander_model::evidence::{Evidence, Stream};
    use bystander_model::ids::TrialId;
    use proptest::prelude::*;

    use super::{hide, settings};

    fn line(text: &str) -> Evidence {
        Evidence::log(TrialId(1), Stream::Stderr, 1, text)
    }

    fn told(text: &str) -> Vec<(String, String)> {
        settings(&line(text)).into_iter().collect()
    }

    fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_are_split_outside_brackets_and_quotes() {
        assert_eq!(
            told("server_args=ServerArgs(a=1, b='x, y', c=[1, 2], d={'e': 3})"),
            pairs(&[("a", "1"), ("b", "'x, y'"), ("c", "[1, 2]"), ("d", "{'e': 3}")])
        );
        assert_eq!(told(r"x={'a': 'it\'s, b', 'c': 2}"), pairs(&[("a", r"'it\'s, b'"), ("c", "2")]));
        assert_eq!(told("nothing is stated"), []);
        assert_eq!(told("cut=Args(a=1, b='x"), pairs(&[("a", "1"), ("b", "'x")]));
    }

    #[test]
    fn whoever_wrote_the_line_and_where_is_no_setting() {
        let before = "(APIServer pid=31011) INFO 11-29 12:14:35 [api_utils.py:286] ";
        assert_eq!(
            told(&format!("{before}non-default args: {{'port': 18000, 'names': ['a', 'b']}}")),
            pairs(&[("names", "['a', 'b']"), ("port", "18000")])
        );
        assert_eq!(
            told(&format!(
                "{before}Initializing a V1 LLM engine (v0.32.0) with config: model='/m', mode=<Mode.NONE: 0>, c={{'d': 1, 'e': 2}}"
            )),
            pairs(&[("c", "{'d': 1, 'e': 2}"), ("mode", "<Mode.NONE: 0>"), ("model", "'/m'")])
        );
        assert_eq!(told("that's what it got: Args(a=1, bcd=2), isn't it"), pairs(&[("a", "1"), ("bcd", "2")]));
    }

    #[test]
    fn of_two_lines_the_later_counts() {
        assert_eq!(
            told("args: {'dtype': 'auto', 'len': 4}\nengine with config: dtype=bf16, eager=True"),
            pairs(&[("dtype", "bf16"), ("eager", "True"), ("len", "4")])
        );
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand_and_numbers_are_none() {
        let mut stated =
            line("Args(api_key='sk-12345', admin_key=None, split_key=0.48, file='/x/sk-12345', pin_key='1234', q_key=abc, c='abc')");
        hide(&mut stated, |name| name.contains("key"), |value| format!("<{}>", value.len()));
        assert_eq!(stated.text, "Args(api_key='<8>', admin_key=None, split_key=0.48, file='/x/<8>', pin_key='<4>', q_key=<3>, c='abc')");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic_and_names_are_never_lost_by_hiding(text in "[ab=:,(){}'\"\\\\\n\u{e9} ]{0,60}") {
            let mut stated = line(&text);
            let before = settings(&stated);
            hide(&mut stated, |_| true, |_| "x".to_owned());
            let _after = settings(&stated);
            hide(&mut stated, |_| false, |_| "x".to_owned());
            prop_assert!(before.len() <= text.len());
        }
    }
}
