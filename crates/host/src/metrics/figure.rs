//! A number as programs print it.

use bystander_lab::json_path::NoNumber;

/// A number that was read, with the unit that stands behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figure {
    pub(super) value: f64,
    /// Empty where none that is known stands there.
    pub(super) unit: &'static str,
}

/// Why a match is no number that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoFigure {
    /// It is none.
    NotANumber,
    /// It is a part of one: in words, which.
    Part(&'static str),
    /// Its last digits would be lost.
    TooLong,
}

/// Reads a number; digits in groups of three are one, as in `1,048,576`. Anything else that is no number is `None`: a comma may be a decimal point
/// where the program speaks another language, and a guess would be a factor of a thousand.
pub(super) fn figure(text: &str) -> Result<f64, NoFigure> {
    let value = parsed(text).filter(|value| value.is_finite()).ok_or(NoFigure::NotANumber)?;
    if bystander_lab::exact::holds(&text.replace(',', ""), value) { Ok(value) } else { Err(NoFigure::TooLong) }
}

/// What a document holds in place of a number, as [`bystander_lab::json_path::number`] reads it.
pub(super) fn of_document(number: Result<f64, NoNumber>) -> Result<Figure, NoFigure> {
    number.map(|value| Figure { value, unit: "" }).map_err(|why| match why {
        NoNumber::TooLong { .. } => NoFigure::TooLong,
        NoNumber::Other { .. } => NoFigure::NotANumber,
    })
}

fn parsed(text: &str) -> Option<f64> {
    if !text.contains(',') {
        return text.parse().ok();
    }
    let (whole, rest) = text.split_once('.').map_or((text, ""), |(whole, rest)| (whole, rest));
    let mut groups = whole.trim_start_matches(['-', '+']).split(',');
    let first = groups.next().filter(|group| (1..=3).contains(&group.len()))?;
    let is_grouped = groups.all(|group| group.len() == 3 && digits(group)) && digits(first) && digits(rest);
    is_grouped.then(|| text.replace(',', "").parse().ok()).flatten()
}

fn digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{NoFigure, figure};

    #[test]
    fn digits_in_groups_of_three_are_one_number() {
        assert_eq!(figure("1,048,576"), Ok(1_048_576.0));
        assert_eq!(figure("-2,097,152.5"), Ok(-2_097_152.5));
        assert_eq!(figure("12"), Ok(12.0));
        assert_eq!(figure("1e6"), Ok(1e6));
        for text in ["0,5", "1,04", "1,0485", ",123", "12,", "1,048,57", "1,04a", "1.234,567", "1234,567", "", "nan", "inf", "1e999"] {
            assert_eq!(figure(text), Err(NoFigure::NotANumber), "{text}");
        }
    }

    #[test]
    fn a_number_whose_last_digits_would_be_lost_is_none() {
        assert_eq!(figure("9007199254740992"), Ok(9_007_199_254_740_992.0));
        assert_eq!((figure("9007199254740993"), figure("9,007,199,254,740,993")), (Err(NoFigure::TooLong), Err(NoFigure::TooLong)));
    }
}
