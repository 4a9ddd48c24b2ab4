//! How many hits a probe may record in a span of time: `10/s`, `600/min`, `5/h`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The most that is taken: beyond it a rate is no limit any more.
const MOST: u32 = 10_000_000;

/// A rate: hits in a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rate {
    hits: u32,
    span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Second,
    Minute,
    Hour,
}

const SPANS: [(&str, Span); 3] = [("s", Span::Second), ("min", Span::Minute), ("h", Span::Hour)];

/// Why a text is no rate; `offset` counts bytes from its start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("read the rate `{text}`: {what}")]
pub struct RateError {
    text: String,
    what: &'static str,
    /// The byte at which a caret belongs.
    pub offset: usize,
}

impl Rate {
    /// The rate in hits a second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        let seconds = match self.span {
            Span::Second => 1.0,
            Span::Minute => 60.0,
            Span::Hour => 3600.0,
        };
        f64::from(self.hits) / seconds
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = SPANS.iter().find(|(_, span)| *span == self.span).map_or("s", |(word, _)| word);
        write!(f, "{}/{word}", self.hits)
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

impl TryFrom<String> for Rate {
    type Error = RateError;

    fn try_from(text: String) -> Result<Self, RateError> {
        text.parse()
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let error = |what, offset| RateError { text: text.to_owned(), what, offset };
        let Some((hits, span)) = text.split_once('/') else {
            return Err(error("write hits and a span, such as `10/s`, `600/min` or `5/h`", text.len()));
        };
        let Ok(hits) = hits.trim().parse::<u32>() else { return Err(error("the hits are a whole number", 0)) };
        if hits == 0 || hits > MOST {
            return Err(error("the hits are from 1 to 10000000", 0));
        }
        let at = text.len() - span.len();
        match SPANS.iter().find(|(word, _)| *word == span.trim()) {
            Some((_, span)) => Ok(Self { hits, span: *span }),
            None => Err(error("the span is `s`, `min` or `h`", at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn a_rate_prints_as_it_was_typed_and_knows_its_hits_a_second() {
        for (text, per_second) in [("10/s", 10.0), ("600/min", 10.0), ("5/h", 5.0 / 3600.0)] {
            let rate: Rate = text.parse().expect(text);
            assert_eq!(rate.to_string(), text);
            assert!((rate.per_second() - per_second).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn what_is_no_rate_says_where() {
        for (text, offset) in [("10", 2), ("x/s", 0), ("0/s", 0), ("-1/s", 0), ("10/d", 3), ("99999999/s", 0), ("", 0)] {
            assert_eq!(text.parse::<Rate>().expect_err(text).offset, offset, "{text}");
        }
    }
}
