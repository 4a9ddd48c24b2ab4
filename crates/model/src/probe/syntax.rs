//! The one-line form of a probe:
//!
//! ```text
//! PLACE [after "PATTERN"] [{EXPR, EXPR …}] [if EXPR] [limit N[, RATE]] [rank EXPR] [unsafe] [compiled break|skip] [via DELIVERY] [as NAME]
//! ```
//!
//! The parts after the place may come in any order, each once. Expressions are Python's; a word such as `limit` is the name of a
//! variable where an operand is due, and begins a part where an expression is complete.

mod expression;

use std::fmt;
use std::ops::Range;

use thiserror::Error;

use super::{Compiled, Delivery, Place, PlaceError, ProbeSpec, RateError, Spans};

/// A probe with the places of its parts in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// The probe; its name is empty where none was given.
    pub probe: ProbeSpec,
    /// Where its parts stand.
    pub spans: Spans,
}

/// Why a text is no probe.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct SyntaxError {
    /// Where the fault stands in the text, in bytes; empty at the end of the text.
    pub at: Range<usize>,
    /// What is wrong.
    pub kind: SyntaxErrorKind,
}

/// What is wrong with a text that is no probe.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntaxErrorKind {
    /// There is nothing.
    #[error("find a place: the probe is empty")]
    Empty,
    /// The place does not parse.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The rate does not parse.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// Something stands where a part should begin.
    #[error("read `{found}`: expected {}", Parts)]
    NoPart {
        /// What stands there.
        found: String,
    },
    /// A part comes twice.
    #[error("read a second `{part}`: each part comes once")]
    Twice {
        /// The part.
        part: &'static str,
    },
    /// Something was opened and not closed.
    #[error("find the end of what `{opened}` opens")]
    Open {
        /// The bracket or quote.
        opened: char,
    },
    /// A closing bracket has no partner.
    #[error("read `{found}`: nothing is open that it closes")]
    Close {
        /// The bracket.
        found: char,
    },
    /// An expression is missing.
    #[error("find an expression {place}")]
    NoExpression {
        /// Where it is missing.
        place: &'static str,
    },
    /// A pattern is missing or has no quotes.
    #[error("find the pattern of `after`: write it in quotes, such as after \"rest = ...\"")]
    NoPattern,
    /// A number is missing or out of bounds.
    #[error("read the limit `{found}`: expected a number of hits from 1, such as `limit 100` or `limit 100, 10/s`")]
    Limit {
        /// What stands there.
        found: String,
    },
    /// A word is none of those that fit.
    #[error("read `{part} {found}`: expected {words}")]
    Word {
        /// The part.
        part: &'static str,
        /// What stands there.
        found: String,
        /// What fits.
        words: &'static str,
    },
}

/// The words that begin a part, for messages.
struct Parts;

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`{…}`, `if`, `after`, `limit`, `rank`, `unsafe`, `compiled`, `via` or `as`")
    }
}

/// Reads a probe from one line.
///
/// # Errors
/// [`SyntaxError`] with the place of the first fault.
pub fn parse(text: &str) -> Result<Typed, SyntaxError> {
    let mut reader = Reader { text, at: 0, spans: Spans::new() };
    let at = reader.place()?;
    let mut probe = ProbeSpec::new("", at);
    let mut seen: Vec<&'static str> = Vec::new();
    loop {
        reader.skip_space();
        if reader.at == text.len() {
            return Ok(Typed { probe, spans: reader.spans });
        }
        let start = reader.at;
        let part = reader.part_word().ok_or_else(|| {
            let found = reader.token();
            SyntaxError { at: start..start + found.len(), kind: SyntaxErrorKind::NoPart { found: found.to_owned() } }
        })?;
        if seen.contains(&part) {
            return Err(SyntaxError { at: start..reader.at, kind: SyntaxErrorKind::Twice { part } });
        }
        seen.push(part);
        reader.part(part, &mut probe)?;
    }
}

/// The words that begin a part.
const PARTS: [&str; 9] = ["{", "if", "after", "limit", "rank", "unsafe", "compiled", "via", "as"];

/// Tells whether a part begins here: `rest` is the text from a word on.
fn begins_part(rest: &str) -> Option<&'static str> {
    PARTS.into_iter().find(|part| {
        rest.strip_prefix(part).is_some_and(|after| *part == "{" || !after.starts_with(|c: char| c == '_' || c.is_alphanumeric()))
    })
}

/// A position in the text.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    spans: Spans,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// The text up to the next white space.
    fn token(&self) -> &'t str {
        self.rest().split(char::is_whitespace).next().unwrap_or_default()
    }

    fn error(&self, kind: SyntaxErrorKind) -> SyntaxError {
        SyntaxError { at: self.at..self.at + self.token().len(), kind }
    }

    fn place(&mut self) -> Result<Place, SyntaxError> {
        self.skip_space();
        let start = self.at;
        let quoted = if self.rest().starts_with(['"', '\'']) { Some(self.quoted()?) } else { None };
        let head = quoted.as_ref().map_or(start, |(_, span)| span.start);
        // What is quoted is a path with white space in it; its line follows the closing quote, or stands inside.
        let rest = self.rest();
        let length = rest.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(rest.len());
        let tail = &rest[..length];
        self.at += length;
        let text = format!("{}{tail}", quoted.map(|(text, _)| text).unwrap_or_default());
        if text.is_empty() {
            return Err(SyntaxError { at: start..self.at, kind: SyntaxErrorKind::Empty });
        }
        self.spans.insert("at".into(), head..self.at);
        text.parse().map_err(|error: PlaceError| {
            // Within quotes the text is not byte for byte what was typed.
            let from = if head == start { head + error.offset() } else { start };
            SyntaxError { at: from..self.at, kind: error.into() }
        })
    }

    fn part_word(&mut self) -> Option<&'static str> {
        let part = begins_part(self.rest())?;
        self.at += part.len();
        Some(part)
    }

    fn part(&mut self, part: &'static str, probe: &mut ProbeSpec) -> Result<(), SyntaxError> {
        match part {
            "{" => probe.capture = self.captures()?,
            "if" => probe.condition = Some(self.expression("if", "after `if`")?),
            "rank" => probe.rank = Some(self.expression("rank", "after `rank`")?),
            "after" => probe.after = Some(self.pattern()?),
            "limit" => self.limit(probe)?,
            "unsafe" => probe.unsafe_capture = true,
            "compiled" => probe.compiled = self.word("compiled", &Compiled::WORDS, "`refuse`, `break` or `skip`")?,
            "via" => probe.delivery = self.word("via", &Delivery::WORDS, "`auto`, `overlay`, `mount` or `patch`")?,
            _ => probe.name = self.name()?,
        }
        Ok(())
    }

    fn captures(&mut self) -> Result<Vec<String>, SyntaxError> {
        let opened = self.at - 1;
        let mut captures = Vec::new();
        loop {
            self.skip_space();
            let start = self.at;
            let end = expression::end(self.text, start, true)?;
            let inside = self.text[start..end].trim_end();
            self.at = end;
            let closed = match self.rest().chars().next() {
                Some('}') => true,
                Some(',') => false,
                _ => return Err(SyntaxError { at: opened..opened + 1, kind: SyntaxErrorKind::Open { opened: '{' } }),
            };
            // A comma may stand before the closing brace, and `{}` captures nothing: such a probe counts.
            if inside.is_empty() && !closed {
                return Err(self.error(SyntaxErrorKind::NoExpression { place: "before the comma" }));
            }
            if !inside.is_empty() {
                self.spans.insert(format!("capture.{}", captures.len()), start..start + inside.len());
                captures.push(inside.to_owned());
            }
            self.at += 1;
            if closed {
                return Ok(captures);
            }
        }
    }

    fn expression(&mut self, key: &str, place: &'static str) -> Result<String, SyntaxError> {
        self.skip_space();
        let end = expression::end(self.text, self.at, false)?;
        let text = self.text[self.at..end].trim_end();
        if text.is_empty() {
            return Err(self.error(SyntaxErrorKind::NoExpression { place }));
        }
        self.spans.insert(key.into(), self.at..self.at + text.len());
        self.at = end;
        Ok(text.to_owned())
    }

    fn pattern(&mut self) -> Result<String, SyntaxError> {
        self.skip_space();
        if !self.rest().starts_with(['"', '\'', '`']) {
            return Err(self.error(SyntaxErrorKind::NoPattern));
        }
        let (text, span) = self.quoted()?;
        if text.trim().is_empty() {
            return Err(SyntaxError { at: span, kind: SyntaxErrorKind::NoPattern });
        }
        self.spans.insert("after".into(), span);
        Ok(text)
    }

    /// What stands between two quotes; a backslash before the quote or a backslash makes it an ordinary sign.
    fn quoted(&mut self) -> Result<(String, Range<usize>), SyntaxError> {
        let open = self.at;
        let mut signs = self.rest().char_indices();
        let quote = signs.next().map_or('"', |(_, quote)| quote);
        let mut text = String::new();
        while let Some((at, c)) = signs.next() {
            if c == quote {
                self.at = open + at + c.len_utf8();
                return Ok((text, open + quote.len_utf8()..open + at));
            }
            let next = signs.clone().next().map(|(_, next)| next);
            match next.filter(|next| c == '\\' && (*next == quote || *next == '\\')) {
                Some(next) => {
                    text.push(next);
                    signs.next();
                }
                None => text.push(c),
            }
        }
        Err(SyntaxError { at: open..open + quote.len_utf8(), kind: SyntaxErrorKind::Open { opened: quote } })
    }

    fn limit(&mut self, probe: &mut ProbeSpec) -> Result<(), SyntaxError> {
        for _ in 0..2 {
            self.skip_space();
            let token = self.rest().split([' ', '\t', ',', '{']).next().unwrap_or_default();
            let at = self.at..self.at + token.len();
            if token.contains('/') && probe.rate.is_none() {
                let read = token.parse().map_err(|error: RateError| {
                    let from = (at.start + error.offset).min(at.end);
                    SyntaxError { at: from..at.end, kind: error.into() }
                });
                probe.rate = Some(read?);
            } else {
                let limit = token.parse().ok().filter(|limit| *limit > 0 && probe.limit.is_none());
                probe.limit = Some(limit.ok_or(SyntaxError { at: at.clone(), kind: SyntaxErrorKind::Limit { found: token.into() } })?);
            }
            self.at = at.end;
            let rest = self.rest().trim_start();
            let Some(after) = rest.strip_prefix(',') else { return Ok(()) };
            self.at = self.text.len() - after.trim_start().len();
        }
        Err(self.error(SyntaxErrorKind::Limit { found: self.token().to_owned() }))
    }

    fn word<T: Copy>(&mut self, part: &'static str, words: &[(&str, T)], fits: &'static str) -> Result<T, SyntaxError> {
        self.skip_space();
        let found = self.token();
        let Some((_, value)) = words.iter().find(|(word, _)| *word == found) else {
            return Err(self.error(SyntaxErrorKind::Word { part, found: found.to_owned(), words: fits }));
        };
        self.at += found.len();
        Ok(*value)
    }

    fn name(&mut self) -> Result<String, SyntaxError> {
        self.skip_space();
        let name = self.token();
        if name.is_empty() || name.contains(|c: char| c.is_control() || matches!(c, '{' | '}' | '"' | '\'')) {
            return Err(self.error(SyntaxErrorKind::Word { part: "as", found: name.to_owned(), words: "a name without white space" }));
        }
        self.spans.insert("name".into(), self.at..self.at + name.len());
        self.at += name.len();
        Ok(name.to_owned())
    }
}

impl fmt::Display for ProbeSpec {
    /// Writes the one-line form, which reads back as the same probe.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.at.to_string();
        let plain = !place.contains(|c: char| c.is_whitespace() || matches!(c, '{' | '"' | '\''));
        if plain {
            f.write_str(&place)?
        } else {
            write!(f, "{}", Quoted(&place))?
        }
        if let Some(pattern) = &self.after {
            write!(f, " after {}", Quoted(pattern))?;
        }
        if !self.capture.is_empty() {
            write!(f, " {{{}}}", self.capture.join(", "))?;
        }
        if let Some(condition) = &self.condition {
            write!(f, " if {condition}")?;
        }
        match (self.limit, self.rate) {
            (Some(limit), Some(rate)) => write!(f, " limit {limit}, {rate}")?,
            (Some(limit), None) => write!(f, " limit {limit}")?,
            (None, Some(rate)) => write!(f, " limit {rate}")?,
            (None, None) => {}
        }
        if let Some(rank) = &self.rank {
            write!(f, " rank {rank}")?;
        }
        if self.unsafe_capture {
            f.write_str(" unsafe")?;
        }
        match self.compiled {
            Compiled::Refuse => {}
            Compiled::Break => f.write_str(" compiled break")?,
            Compiled::Skip => f.write_str(" compiled skip")?,
        }
        if self.delivery != Delivery::Auto {
            write!(f, " via {}", self.delivery.word())?;
        }
        if self.name.is_empty() { Ok(()) } else { write!(f, " as {}", self.name) }
    }
}

/// A text in double quotes, as [`Reader::quoted`] reads it.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
