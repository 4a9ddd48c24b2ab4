//! One search through many lines for whatever any of many patterns may match.
//!
//! The patterns of a plan are written for single lines. Joined into one, and made so that no part of them matches a line end, they find in a block of
//! lines the lines that may matter; the exact patterns then look at those. A line that the sieve passes over is matched by none of them.

use std::borrow::Cow;

use bystander_model::plain::{has_orders, text_without_orders};
use bystander_model::reading::{LogBlock, LogLine};
use regex::Regex;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

/// The size that the joined pattern may take, in bytes, compiled or lazily built.
const SIZE: usize = 64 << 20;

/// The joined pattern.
#[derive(Debug, Clone)]
pub(crate) enum Sieve {
    /// There is nothing to look for.
    Nothing,
    /// Every line may matter: the patterns cannot be joined.
    Everything,
    /// Lines in which this matches.
    Search(Regex),
}

impl Sieve {
    /// Joins patterns that are each valid on their own.
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let mut joined = Vec::new();
        for pattern in patterns {
            let Ok(hir) = regex_syntax::parse(pattern) else { return Self::Everything };
            joined.push(of_line(&hir).to_string());
        }
        if joined.is_empty() {
            return Self::Nothing;
        }
        let joined: Vec<String> = joined.iter().map(|pattern| format!("(?:{pattern})")).collect();
        let built = regex::RegexBuilder::new(&joined.join("|")).size_limit(SIZE).dfa_size_limit(SIZE).build();
        built.map_or(Self::Everything, Self::Search)
    }

    /// What is found first in the lines of a block that may matter, as they are shown or as they are.
    pub(crate) fn find_line<T>(&self, block: &LogBlock<'_>, mut look: impl FnMut(&LogLine<'_>) -> Option<T>) -> Option<T> {
        if matches!(self, Self::Nothing) || !has_orders(block.text.as_bytes()) {
            return block.candidates(|text, from| self.find(text, from)).find_map(|line| look(&line));
        }
        block.lines().find_map(|line| {
            let plain = text_without_orders(line.text);
            let may_matter = self.find(&plain, 0).is_some() || (matches!(plain, Cow::Owned(_)) && self.find(line.text, 0).is_some());
            may_matter.then(|| look(&line)).flatten()
        })
    }

    /// The place of the next line that may matter, at or after a byte that begins a line.
    pub(crate) fn find(&self, text: &str, from: usize) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::Everything => Some(from),
            // The end of a match lies in its line, or at its end, since no part of it is a line end.
            Self::Search(regex) => regex.shortest_match_at(text, from),
        }
    }
}

/// Makes a pattern for whole texts one for lines within them: its beginning and end are those of a line, or of a text between carriage returns, and
/// nothing of it is a line end.
fn of_line(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => Hir::fail(),
        HirKind::Literal(literal) => Hir::literal(literal.0.clone()),
        HirKind::Class(Class::Unicode(class)) => {
            let mut class = class.clone();
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut class = class.clone();
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Hir::class(Class::Bytes(class))
        }
        // The texts of a line that overwrites itself end with carriage returns; a whole line may end with one as well, before its line end.
        HirKind::Look(Look::Start | Look::StartLF) => Hir::alternation(vec![Hir::look(Look::StartLF), Hir::look(Look::StartCRLF)]),
        HirKind::Look(Look::End | Look::EndLF) => Hir::alternation(vec![Hir::look(Look::EndLF), Hir::look(Look::EndCRLF)]),
        HirKind::Look(look) => Hir::look(*look),
        HirKind::Repetition(repetition) => Hir::repetition(repetition.with(of_line(&repetition.sub))),
        HirKind::Capture(capture) => of_line(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(of_line).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(of_line).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::Sieve;
    use bystander_model::evidence::Stream;
    use bystander_model::ids::TimeNs;
    use bystander_model::plain::pieces;
    use bystander_model::reading::LogBlock;
    use proptest::prelude::*;
    use regex::Regex;

    /// Lines that the sieve lets through, and those that a pattern matches, by number.
    fn both(patterns: &[&str], text: &str) -> (Vec<u64>, Vec<u64>) {
        let block = LogBlock { stream: Stream::Stdout, first: 1, time: TimeNs(0), text };
        let sieve = Sieve::new(patterns.iter().copied());
        let through = block.candidates(|text, from| sieve.find(text, from)).map(|line| line.number).collect();
        let exact: Vec<Regex> = patterns.iter().map(|pattern| Regex::new(pattern).expect(pattern)).collect();
        let is_match = |regex: &Regex, text: &str| regex.is_match(text) || pieces(text).any(|piece| regex.is_match(piece));
        let matched = block.lines().filter(|line| exact.iter().any(|regex| is_match(regex, line.text))).map(|line| line.number).collect();
        (through, matched)
    }

    #[test]
    fn anchors_and_classes_are_those_of_lines() {
        for (patterns, text) in [
            (&[r"^a(\d+)$"][..], "a1\nba2\na3\na4b\n"),
            (&[r"\Aa\z"], "a\na\nb\na"),
            (&[r"x\s+(\d)"], "x\n1\nx 2\n"),
            (&[r"[^b]*(c)"], "a\nb\nc\n"),
            (&[r"(?s)a.*(z)"], "a\nz\naz\n"),
            (&[r"(?m)^(b)$"], "ab\nb\nbc"),
            (&[r"^$", r"q"], "\na\n\nq\n\n"),
            (&[r"\berror\b", r"(?i)FATAL"], "terror\nan error\nfatal\n"),
            (&[r"\b(é)\B?"], "é\nxé\n"),
            (&[r"a\r?$"], "a\r\na\nb\r\n"),
            (&[r"(x)?"], "a\n\nb"),
            (&[r"a\nb"], "a\nb\n"),
        ] {
            let (through, matched) = both(patterns, text);
            assert_eq!(through, matched, "{patterns:?}");
        }
    }

    #[test]
    fn texts_between_carriage_returns_are_found_as_lines_are() {
        for (pattern, text, lines) in [
            (r"^b$", "a\rb\rc\nb\r\na b\n", &[1, 2][..]),
            (r"\Ab", "a\rb\nab\n", &[1]),
            (r"(?m)^$", "a\n\r\r\n", &[2]),
            (r"a\r$", "a\r\nb\n", &[1]),
        ] {
            assert_eq!(both(&[pattern], text).0, lines, "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn without_patterns_nothing_matters() {
        assert_eq!(both(&[], "a\nb\n"), (vec![], vec![]));
    }

    proptest! {
        #[test]
        fn no_line_that_matches_is_passed_over(
            patterns in proptest::collection::vec("(\\^|\\\\b|\\\\A)?(a|b|\\.|\\\\s|\\[\\^a\\]|\\(a\\|b\\))[*+?]?(a|b|\\\\n|\\\\W|\\.)?(\\$|\\\\z|\\\\B)?", 1..4),
            text in "[ab \n\r\u{e9}]{0,30}",
        ) {
            let valid: Vec<&str> = patterns.iter().map(String::as_str).filter(|pattern| Regex::new(pattern).is_ok()).collect();
            let (through, matched) = both(&valid, &text);
            prop_assert!(matched.iter().all(|line| through.contains(line)), "{through:?} {matched:?}");
        }
    }
}
