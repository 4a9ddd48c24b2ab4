//! Figures with the range that their sources leave, and how they are printed.

use bystander_model::budget::Figure;

/// A number from a log: the value, and half of its last printed digit.
///
/// Returns `None` where `text` does not start with a decimal number.
#[must_use]
pub fn rounded(text: &str) -> Option<Figure> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-'))).unwrap_or(text.len());
    // A full stop may end the sentence.
    let digits = text[..end].trim_end_matches('.');
    let value: f64 = digits.parse().ok().filter(|value: &f64| value.is_finite())?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half = 0.5 * 10f64.powi(-i32::try_from(decimals).ok()?);
    Some(Figure { value, low: value - half, high: value + half })
}

/// Whether a figure has no range.
#[must_use]
pub fn is_exact(figure: &Figure) -> bool {
    figure.low >= figure.high
}

/// The smaller of two figures, bound by bound.
#[must_use]
pub fn least(a: Figure, b: Figure) -> Figure {
    Figure { value: a.value.min(b.value), low: a.low.min(b.low), high: a.high.min(b.high) }
}

/// A number with so many decimals and a true minus sign.
#[must_use]
pub fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    if value < 0.0 && !is_zero { format!("\u{2212}{text}") } else { text }
}

/// A whole number with thousands set apart and a true minus sign.
#[must_use]
pub fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("\u{2212}{out}") } else { out }
}

/// A fraction as people type it: six decimals at most, no zeros at the end.
#[must_use]
pub fn fraction(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Rounds a figure up at the sixth decimal, so that what is printed is never below it.
#[must_use]
pub fn up_at_sixth(value: f64) -> f64 {
    // A value that has six decimals already may lie a rounding error above itself.
    (value * 1e6 - 1e-6).ceil() / 1e6
}

#[cfg(test)]
mod tests {
    use super::{decimal, fraction, rounded, up_at_sixth, whole};

    #[test]
    fn a_rounded_number_knows_its_range() {
        let figure = rounded("21.70 GB, more").expect("a number");
        assert!((figure.value - 21.7).abs() < 1e-12 && (figure.low - 21.695).abs() < 1e-12 && (figure.high - 21.705).abs() < 1e-12);
        assert_eq!(rounded("-0.00 GB").map(|figure| figure.value.abs()), Some(0.0));
        assert_eq!(rounded("0.2.").map(|figure| figure.value), Some(0.2));
        assert_eq!(rounded("None"), None);
        assert_eq!(rounded(""), None);
        assert_eq!(rounded("1-2"), None);
    }

    #[test]
    fn numbers_are_printed_for_people() {
        assert_eq!(decimal(-20.60255, 3), "\u{2212}20.603");
        assert_eq!(decimal(-0.0001, 2), "0.00");
        assert_eq!(whole(-314_803.0), "\u{2212}314,803");
        assert_eq!(whole(999.0), "999");
        assert_eq!(whole(1_000_000.0), "1,000,000");
        assert_eq!(fraction(0.55), "0.55");
        assert_eq!(fraction(0.495_000_000_000_000_05), "0.495");
        assert_eq!(fraction(1.0), "1");
    }

    #[test]
    fn rounding_up_never_goes_below_and_keeps_what_is_round() {
        assert!((up_at_sixth(0.769_178_4) - 0.769_179).abs() < 1e-12);
        assert!((up_at_sixth(0.25) - 0.25).abs() < 1e-12);
    }
}
