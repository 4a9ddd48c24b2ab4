//! Sizes of memory as people write them: `1GiB`, `512MiB`, `1.5GB`, `0`.

use super::item::Item;
use super::problems::Problems;

/// Units with their bytes.
const UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// The largest size that is taken: more memory than any machine has, and exact as a floating-point number.
const LARGEST: f64 = 4_503_599_627_370_496.0;

/// Why a text is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SizeError {
    /// There is nothing in it.
    #[error("read a size from an empty text")]
    Empty,
    /// It does not begin with a number.
    #[error("find a number at `{0}`")]
    NoNumber(String),
    /// The number has no unit.
    #[error("find a unit after `{0}`")]
    NoUnit(String),
    /// The unit is none of those that are known.
    #[error("know the unit `{0}`")]
    UnknownUnit(String),
    /// It is larger than any memory.
    #[error("take a size of more than 4 PiB")]
    TooLarge,
}

/// Reads a size, in bytes; `0` needs no unit.
fn parse(text: &str) -> Result<u64, SizeError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(SizeError::Empty);
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let value: f64 = number.parse().map_err(|_no_number: std::num::ParseFloatError| SizeError::NoNumber(text.to_owned()))?;
    if unit.is_empty() {
        return if value == 0.0 { Ok(0) } else { Err(SizeError::NoUnit(number.to_owned())) };
    }
    let factor =
        UNITS.iter().find(|(name, _)| *name == unit).map(|(_, bytes)| *bytes).ok_or_else(|| SizeError::UnknownUnit(unit.to_owned()))?;
    whole(value * factor as f64).ok_or(SizeError::TooLarge)
}

/// The whole number nearest to a size that is not too large.
fn whole(bytes: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies between 0 and the largest size, and is whole")]
    (0.0..=LARGEST).contains(&bytes).then(|| bytes.round() as u64)
}

/// Reads a size of memory from the file, in bytes.
pub(super) fn read(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let Some(text) = item.value.as_str() else {
        let problem = item.expected("a size of memory, a string such as \"1GiB\"");
        let written = problems.source(&item.span).to_owned();
        let number = item.value.is_integer() || item.value.is_float();
        problems.push(&item.span, if number { problem.help(format!("say the unit: \"{written}GiB\"")) } else { problem });
        return None;
    };
    match parse(text) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            let near = match &error {
                SizeError::UnknownUnit(unit) => UNITS.iter().find(|(name, _)| is_meant(unit, name)).map(|(name, _)| *name),
                _ => None,
            };
            let help = match (&error, near) {
                (SizeError::NoUnit(number), _) => format!("say the unit: \"{number}GiB\""),
                (_, Some(near)) => format!("did you mean `{near}`?"),
                _ => "write it like \"1GiB\", \"512MiB\" or \"1.5GB\"".to_owned(),
            };
            problems.push(&item.span, item.invalid("is no size of memory").label(format!("failed to {error}")).help(help));
            None
        }
    }
}

/// Whether a unit was written in other letters, or by its first alone.
fn is_meant(written: &str, unit: &str) -> bool {
    unit.eq_ignore_ascii_case(written) || (unit.contains('i') && written.len() == 1 && unit[..1].eq_ignore_ascii_case(written))
}

#[cfg(test)]
mod tests {
    use super::{SizeError, parse};

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("1GiB", 1 << 30),
            (" 512 MiB ", 512 << 20),
            ("1.5GiB", 3 << 29),
            ("4GB", 4_000_000_000),
            ("0", 0),
            ("0.0", 0),
            ("0GiB", 0),
            ("7B", 7),
            ("1.23456789GiB", 1_325_607_178),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_says_why() {
        for (text, error) in [
            ("", SizeError::Empty),
            ("GiB", SizeError::NoNumber("GiB".into())),
            ("-1GiB", SizeError::NoNumber("-1GiB".into())),
            ("1.2.3GiB", SizeError::NoNumber("1.2.3GiB".into())),
            ("4", SizeError::NoUnit("4".into())),
            ("4gib", SizeError::UnknownUnit("gib".into())),
            ("4 potatoes", SizeError::UnknownUnit("potatoes".into())),
            ("99999999TiB", SizeError::TooLarge),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
}
