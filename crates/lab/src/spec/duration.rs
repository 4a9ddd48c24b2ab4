//! Spans of time as people write them: `15m`, `90s`, `500ms`, `1h30m`, `1.5s`.

use std::time::Duration;

use super::item::Item;
use super::problems::Problems;
use super::quantity::Measure;

/// Spans of time in seconds, up to a year.
const TIME: Measure = Measure {
    name: "span of time",
    units: &[("d", 86_400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001)],
    compound: true,
    most: (365.0 * 86_400.0, "a year"),
    example: "\"15m\"",
    forms: "\"15m\", \"90s\", \"500ms\" or \"1h30m\"",
    likely: "s",
};

/// Reads a span of time from the file; `zero` says whether none at all is allowed.
pub(super) fn read(item: &Item<'_>, zero: bool, problems: &mut Problems<'_>) -> Option<Duration> {
    let span = of_seconds(TIME.read(item, problems)?);
    if span.is_zero() && !zero {
        problems.push(&item.span, item.invalid("must be longer than nothing"));
        return None;
    }
    Some(span)
}

/// Reads a span of time that was typed; `None` where it is none.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    TIME.parse(text).ok().map(of_seconds)
}

/// Rounded to a microsecond, so that `0.3s` is three hundred milliseconds and not a binary neighbour of it.
fn of_seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64((seconds * 1e6).round() / 1e6).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::quantity::QuantityError;
    use super::{TIME, of_seconds};

    #[test]
    fn spans_of_time_are_read_as_people_write_them() {
        for (text, span) in [
            ("15m", Duration::from_secs(900)),
            ("90s", Duration::from_secs(90)),
            ("90 s", Duration::from_secs(90)),
            ("500ms", Duration::from_millis(500)),
            ("1h30m", Duration::from_secs(5400)),
            (" 1h 30m ", Duration::from_secs(5400)),
            ("0.3s", Duration::from_millis(300)),
            ("365d", Duration::from_secs(365 * 86_400)),
            ("0s", Duration::ZERO),
            ("0", Duration::ZERO),
        ] {
            assert_eq!(TIME.parse(text).map(of_seconds), Ok(span), "{text}");
        }
    }

    #[test]
    fn what_is_no_span_of_time_says_why() {
        for (text, error) in [
            (" ", QuantityError::Empty("span of time")),
            ("90", QuantityError::NoUnit("90".into())),
            ("1h30", QuantityError::NoUnit("30".into())),
            ("m", QuantityError::NoNumber("m".into())),
            ("1.2.3s", QuantityError::NoNumber("1.2.3s".into())),
            ("5 min", QuantityError::UnknownUnit("min".into())),
            ("-5s", QuantityError::NoNumber("-5s".into())),
            ("30m1h", QuantityError::Order("h".into())),
            ("1m1m", QuantityError::Order("m".into())),
            ("1h0", QuantityError::NoUnit("0".into())),
            ("9999999999h", QuantityError::TooLarge("span of time", "a year")),
        ] {
            assert_eq!(TIME.parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_unit_at_length_is_known_for_what_was_meant() {
        for (written, meant) in [("min", Some("m")), ("sec", Some("s")), ("msec", Some("ms")), ("Hours", Some("h")), ("fortnights", None)] {
            assert_eq!(TIME.meant(written), meant, "{written}");
        }
    }
}
