//! What a pattern for a number matched, with what stands beside it: a match that stops within a number is none.

use bystander_model::plain::{pieces, text_without_orders};
use regex::Regex;
use regex_syntax::ast::{self, Ast};

use super::figure::{Figure, NoFigure, figure};
use super::unit;

/// A number as a group would take all of it.
const NUMBER: &str = r"[-+]?[\d.,]*\d(?:[eE][-+]?\d+)?";

/// A pattern with one group, a number.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) regex: Regex,
    /// The characters that the pattern itself asks for right before and right behind its group: whoever names them knows where the number ends.
    named: [Option<char>; 2],
    /// The pattern whose group takes a whole number.
    mended: Option<String>,
}

/// One match.
#[derive(Debug)]
pub(super) struct Match<'a> {
    pub(super) read: Result<Figure, NoFigure>,
    /// The text that it stands in.
    pub(super) piece: &'a str,
}

impl Pattern {
    /// Prepares a pattern; `None` where it does not compile.
    pub(super) fn new(text: &str) -> Option<Self> {
        let regex = Regex::new(text).ok()?;
        let (mut named, mut mended) = ([None, None], None);
        if let Ok(ast) = ast::parse::Parser::new().parse(text)
            && let Some(found) = group(&ast)
        {
            named = found.named;
            let (start, end) = found.inside;
            mended = Some(format!("{}{NUMBER}{}", &text[..start], &text[end..]));
        }
        Some(Self { regex, named, mended })
    }

    /// Takes every match in a line: in its plain texts, or else in the line as it is.
    pub(super) fn each(&self, line: &str, mut take: impl FnMut(Match<'_>)) {
        let plain = text_without_orders(line);
        let mut any = false;
        pieces(&plain).for_each(|piece| any |= self.in_piece(piece, &mut take));
        if !any && plain.len() != line.len() {
            self.in_piece(line, &mut take);
        }
    }

    fn in_piece(&self, piece: &str, take: &mut impl FnMut(Match<'_>)) -> bool {
        let mut any = false;
        for group in self.regex.captures_iter(piece).filter_map(|found| found.get(1)) {
            any = true;
            take(Match { read: self.read(piece, group.start(), group.end()), piece });
        }
        any
    }

    fn read(&self, piece: &str, start: usize, end: usize) -> Result<Figure, NoFigure> {
        let (before, text, after) = (&piece[..start], &piece[start..end], &piece[end..]);
        let value = figure(text);
        if value == Err(NoFigure::NotANumber) {
            return Err(NoFigure::NotANumber);
        }
        let [first, last] = self.named;
        if let Some(part) = begins_within(before, text, first).or_else(|| ends_within(text, after, last)) {
            return Err(NoFigure::Part(part));
        }
        Ok(Figure { value: value?, unit: unit::of(after) })
    }

    /// What to write instead, where the mended pattern reads a whole number of a text.
    pub(super) fn advice(&self, piece: &str) -> String {
        let mended = self.mended.as_deref().filter(|mended| {
            let Some(pattern) = Self::new(mended) else { return false };
            let mut reads = 0;
            pattern.each(piece, |found| reads += u32::from(found.read.is_ok()));
            reads > 0
        });
        match mended {
            Some(mended) => format!("`{mended}` reads it as a whole"),
            None => "let the group take all of it, or name the sign beside the group in the pattern".to_owned(),
        }
    }
}

/// Whether a match begins within a number.
fn begins_within(before: &str, text: &str, named: Option<char>) -> Option<&'static str> {
    let mut back = before.chars().rev();
    let sign = back.next().filter(|sign| Some(*sign) != named)?;
    let further = back.next();
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    match sign {
        '0'..='9' if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')) => Some("begins within a number"),
        '.' | ',' if is_digit(further) && text.starts_with(|c: char| c.is_ascii_digit()) => Some("begins within a number"),
        '-' | '\u{2212}' if further.is_none_or(|c| c.is_whitespace() || "=:([,".contains(c)) && !text.starts_with(['-', '+']) => {
            Some("leaves the sign of a number out")
        }
        _ => None,
    }
}

/// Whether a match ends within a number.
fn ends_within(text: &str, after: &str, named: Option<char>) -> Option<&'static str> {
    let mut ahead = after.chars();
    let sign = ahead.next().filter(|sign| Some(*sign) != named)?;
    let rest = ahead.as_str();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let stops = Some("stops within a number");
    match sign {
        '0'..='9' => stops,
        '.' | ',' if digits > 0 => stops,
        '_' | '\'' | '\u{a0}' | '\u{202f}' | '\u{2009}' if digits == 3 => stops,
        'e' | 'E' if rest.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit()) => stops,
        'x' | 'X' if text == "0" && rest.starts_with(|c: char| c.is_ascii_hexdigit()) => stops,
        _ if unit::is_followed_by_less(after) => Some("stops within a span of time"),
        _ => None,
    }
}

/// The first group of a pattern.
struct Group {
    /// Where what it holds begins and ends in the pattern.
    inside: (usize, usize),
    named: [Option<char>; 2],
}

fn group(ast: &Ast) -> Option<Group> {
    match ast {
        Ast::Group(found) => of_group(found).or_else(|| group(&found.ast)),
        Ast::Repetition(repeated) => group(&repeated.ast),
        Ast::Alternation(all) => all.asts.iter().find_map(group),
        Ast::Concat(all) => {
            let literal = |at: Option<&Ast>| if let Some(Ast::Literal(literal)) = at { Some(literal.c) } else { None };
            all.asts.iter().enumerate().find_map(|(at, part)| match part {
                Ast::Group(found) if found.capture_index().is_some() => {
                    let before = at.checked_sub(1).and_then(|at| all.asts.get(at));
                    of_group(found).map(|group| Group { named: [literal(before), literal(all.asts.get(at + 1))], ..group })
                }
                other => group(other),
            })
        }
        _ => None,
    }
}

fn of_group(found: &ast::Group) -> Option<Group> {
    found.capture_index()?;
    let inside = found.ast.span();
    Some(Group { inside: (inside.start.offset, inside.end.offset), named: [None, None] })
}

#[cfg(test)]
mod tests {
    use super::{NoFigure, Pattern};

    /// What a pattern reads of a line: numbers with their units, or what is wrong.
    fn read(pattern: &str, line: &str) -> Vec<String> {
        let mut all = Vec::new();
        Pattern::new(pattern).expect(pattern).each(line, |found| {
            all.push(match found.read {
                Ok(figure) => format!("{}{}", figure.value, figure.unit),
                Err(NoFigure::Part(what)) => what.to_owned(),
                Err(other) => format!("{other:?}"),
            });
        });
        all
    }

    #[test]
    fn a_match_that_stops_within_a_number_is_none() {
        for (pattern, line) in [
            (r"tokens=([\d.]+)", "tokens=1,234,567"),
            (r"tokens=(\d+)", "tokens=1.5"),
            (r"tokens=([\d.]+)", "tokens=1.5e6"),
            (r"tokens=(\d)", "tokens=12"),
            (r"tokens=(\d+)", "tokens=1_000"),
            (r"tokens=(\d+)", "tokens=1'000"),
            (r"tokens=(\d+)", "tokens=1,5"),
            (r"id=(\d+)", "id=0x1f"),
        ] {
            assert_eq!(read(pattern, line), ["stops within a number"], "{pattern} {line}");
        }
        for line in ["took 1m30s", "took 2h 5m", "took 1m2.5s"] {
            assert_eq!(read(r"took ([\d.]+)", line), ["stops within a span of time"], "{line}");
        }
    }

    #[test]
    fn a_match_that_begins_within_a_number_is_none() {
        for (pattern, line) in [(r"loss.*(\d+)", "loss=1234"), (r"x=\d,?(\d+)", "x=1,234"), (r"x=.(\d+)", "x=12"), (r"x=\d.(\d+)", "x=1.5")]
        {
            assert_eq!(read(pattern, line), ["begins within a number"], "{pattern} {line}");
        }
        assert_eq!(read(r"neg=-?(\d+)", "neg=-5"), ["leaves the sign of a number out"]);
        assert_eq!(read(r"neg=\W*(\d+)", "neg=\u{2212}5"), ["leaves the sign of a number out"]);
    }

    #[test]
    fn who_names_the_sign_beside_the_group_knows_where_the_number_ends() {
        for (pattern, line, value) in [
            (r"^(\d+),\d+$", "12,345", "12"),
            (r"v(\d+)\.\d+", "v1.25", "1"),
            (r"\.(\d+)$", "v1.25", "25"),
            (r"rank-(\d+)", "rank-3", "3"),
            (r"below -(\d+)", "below -3", "3"),
            (r"(?:x|y)=(\d+):", "y=12:34", "12"),
        ] {
            assert_eq!(read(pattern, line), [value], "{pattern} {line}");
        }
    }

    #[test]
    fn whole_numbers_are_read_with_their_units() {
        for (pattern, line, value) in [
            (r"mem=([\d.]+)", "mem=2.0 GiB", "2GiB"),
            (r"mem=([\d.]+) MiB", "mem=2048 MiB", "2048MiB"),
            (r"mem=(\S+)", "mem=2048 MiB", "2048MiB"),
            (r"rate=([\d.]+)", "rate=1.5K tok/s", "1.5k"),
            (r"rate=([\d.]+)", "rate=1500 tok/s", "1500"),
            (r"p50=([\d.,]+)", "p50=1,234.5", "1234.5"),
            (r"n=(\d+)", "n=5, m=6", "5"),
            (r"n=(\d+)", "n=5.", "5"),
            (r"n=(\d+)", "[n=5]", "5"),
            (r"(\d+) of \d+", "3 of 4", "3"),
            (r"rank-(\d+)", "rank-3", "3"),
            (r"gpt(\d+)", "a-gpt4", "4"),
            (r"t (\d+)", "t 12:30:01", "12"),
            (r"x=(-?\d+)", "x=-5", "-5"),
        ] {
            assert_eq!(read(pattern, line), [value], "{pattern} {line}");
        }
        assert_eq!(read(r"n=(\d+)", "n=9007199254740993"), ["TooLong"]);
        assert_eq!(read(r"n=(\S+)", "n=many"), ["NotANumber"]);
    }

    #[test]
    fn colours_and_carriage_returns_do_not_hide_a_match() {
        assert_eq!(read(r"^tok=(\d+)$", "\x1b[1mtok=\x1b[0m5\r"), ["5"]);
        assert_eq!(read(r"it/s=(\d+)$", "\rit/s=10\rit/s=20\x1b[1Git/s=30"), ["10", "20", "30"]);
        assert_eq!(read("\\x1b\\[1mtok=(\\d+)", "\x1b[1mtok=5\x1b[0m"), ["5"], "a pattern that is about colours");
    }

    #[test]
    fn the_advice_is_a_pattern_that_reads_the_line() {
        let advice = |pattern: &str, line: &str| Pattern::new(pattern).expect(pattern).advice(line);
        assert_eq!(advice(r"tokens=([\d.]+)", "tokens=1,234,567"), r"`tokens=([-+]?[\d.,]*\d(?:[eE][-+]?\d+)?)` reads it as a whole");
        assert!(advice(r"loss.*(\d+)", "loss=1234").starts_with("let the group take all of it"));
    }
}
