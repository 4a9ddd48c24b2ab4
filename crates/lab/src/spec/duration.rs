//! Spans of time as people write them: `15m`, `90s`, `500ms`, `1h30m`, `1.5s`.

use std::time::Duration;

use super::item::Item;
use super::problems::Problems;

/// The longest span that is taken: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
/// Units with their seconds, the greatest first.
const UNITS: &[(&str, f64)] = &[("d", 86_400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001)];

/// Why a text is no span of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// There is nothing in it.
    #[error("read a span of time from an empty text")]
    Empty,
    /// A number is missing before a unit, or is no number.
    #[error("find a number at `{0}`")]
    NoNumber(String),
    /// A number has no unit.
    #[error("find a unit after `{0}`")]
    NoUnit(String),
    /// The unit is none of `d`, `h`, `m`, `s`, `ms`.
    #[error("know the unit `{0}`")]
    UnknownUnit(String),
    /// A unit comes twice, or after a smaller one.
    #[error("take the unit `{0}` at this place: units go from great to small, each once")]
    Order(String),
    /// It is longer than a year.
    #[error("take a span of time that is longer than a year")]
    TooLong,
}

/// Reads a span of time.
///
/// # Errors
/// Where a number has no unit, a unit no number, or the units are not in falling order.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(DurationError::Empty);
    }
    let mut next_unit = 0;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after) = split(after, |c| !c.is_ascii_digit() && c != '.' && !c.is_whitespace());
        seconds += part(number, unit, &mut next_unit)?;
        rest = after.trim_start();
    }
    // Rounded to a microsecond, so that `0.3s` is three hundred milliseconds and not a binary neighbour of it.
    let span = Duration::try_from_secs_f64((seconds * 1e6).round() / 1e6).ok().filter(|span| *span <= LONGEST);
    span.ok_or(DurationError::TooLong)
}

/// One number with its unit, in seconds.
fn part(number: &str, unit: &str, next_unit: &mut usize) -> Result<f64, DurationError> {
    let Ok(value) = number.parse::<f64>() else {
        return Err(DurationError::NoNumber(if number.is_empty() { unit } else { number }.to_owned()));
    };
    if unit.is_empty() {
        return Err(DurationError::NoUnit(number.to_owned()));
    }
    let index = UNITS.iter().position(|(name, _)| *name == unit).ok_or_else(|| DurationError::UnknownUnit(unit.to_owned()))?;
    if index < *next_unit {
        return Err(DurationError::Order(unit.to_owned()));
    }
    *next_unit = index + 1;
    Ok(value * UNITS[index].1)
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// Reads a span of time from the file; `zero` says whether none at all is allowed.
pub(super) fn read(item: &Item<'_>, zero: bool, problems: &mut Problems<'_>) -> Option<Duration> {
    let Some(text) = item.value.as_str() else {
        let problem = item.expected("a span of time, a string such as \"15m\"");
        let written = problems.source(&item.span).to_owned();
        let number = item.value.is_integer() || item.value.is_float();
        problems.push(&item.span, if number { problem.help(format!("say the unit: \"{written}s\"")) } else { problem });
        return None;
    };
    match parse(text) {
        Ok(span) if span.is_zero() && !zero => {
            problems.push(&item.span, item.invalid("must be longer than nothing"));
            None
        }
        Ok(span) => Some(span),
        Err(error) => {
            let help = match &error {
                DurationError::NoUnit(number) if text.trim() == number => format!("say the unit: \"{number}s\""),
                _ => String::from("write it like \"15m\", \"90s\", \"500ms\" or \"1h30m\""),
            };
            problems.push(&item.span, item.invalid("is no span of time").label(format!("failed to {error}")).help(help));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{DurationError, parse};

    #[test]
    fn spans_of_time_are_read_as_people_write_them() {
        assert_eq!(parse("15m"), Ok(Duration::from_secs(900)));
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("0.3s"), Ok(Duration::from_millis(300)));
        assert_eq!(parse("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn what_is_no_span_of_time_says_why() {
        assert_eq!(parse(" "), Err(DurationError::Empty));
        assert_eq!(parse("90"), Err(DurationError::NoUnit("90".into())));
        assert_eq!(parse("m"), Err(DurationError::NoNumber("m".into())));
        assert_eq!(parse("1.2.3s"), Err(DurationError::NoNumber("1.2.3".into())));
        assert_eq!(parse("5 min"), Err(DurationError::NoUnit("5".into())));
        assert_eq!(parse("5min"), Err(DurationError::UnknownUnit("min".into())));
        assert_eq!(parse("-5s"), Err(DurationError::NoNumber("-".into())));
        assert_eq!(parse("30m1h"), Err(DurationError::Order("h".into())));
        assert_eq!(parse("9999999999h"), Err(DurationError::TooLong));
    }
}
