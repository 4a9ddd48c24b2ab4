//! Amounts as vLLM and torch print them, with the range that their rounding leaves.
//!
//! The engine rounds to two decimals and then drops zeros at the end, so that `80.0 GiB` stands for 79.995 to 80.005.

use bystander_model::budget::Figure;

/// Bytes in a GiB.
const GIB: f64 = 1_073_741_824.0;
/// The least number of decimals to which the engine rounds; fewer digits are zeros that were dropped.
const DECIMALS: usize = 2;

/// What follows a name in a text.
pub(crate) fn after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    // Most names do not stand in most lines: what counts is how fast that is seen.
    memchr::memmem::find(text.as_bytes(), name.as_bytes()).map(|at| &text[at + name.len()..])
}

/// The digits of a decimal number at the start of a text, and what follows them.
fn digits(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-'))).unwrap_or(text.len());
    // A full stop may end the sentence.
    let digits = text[..end].trim_end_matches('.');
    (!digits.is_empty()).then(|| (digits, &text[digits.len()..]))
}

/// A number at the start of a text that was rounded to two decimals or more.
pub(crate) fn rounded(text: &str) -> Option<Figure> {
    let (digits, _) = digits(text)?;
    let value = plain(digits)?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len()).max(DECIMALS);
    let half = 0.5 * 10f64.powi(-i32::try_from(decimals).ok()?);
    Some(Figure { value, low: value - half, high: value + half })
}

/// A number at the start of a text, as it stands.
pub(crate) fn plain(text: &str) -> Option<f64> {
    digits(text)?.0.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A whole number at the start of a text, thousands set apart by commas or not.
pub(crate) fn whole(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == ',')).unwrap_or(text.len());
    let digits: String = text[..end].chars().filter(|c| *c != ',').collect();
    // A longer number is none of a log's, and would not be exact.
    (1..=15).contains(&digits.len()).then(|| digits.parse().ok()).flatten()
}

/// An amount with its unit at the start of a text, in GiB; bytes are exact. `None` where no unit follows.
pub(crate) fn amount(text: &str) -> Option<Figure> {
    let (digits, unit) = digits(text)?;
    let figure = rounded(digits)?;
    let unit = unit.trim_start();
    let scaled = |by: f64| Figure { value: figure.value / by, low: figure.low / by, high: figure.high / by };
    match unit.get(..2)? {
        "Gi" | "GB" => Some(figure),
        "Mi" | "MB" => Some(scaled(1024.0)),
        "Ki" | "KB" => Some(scaled(1024.0 * 1024.0)),
        "by" | "B " | "B)" | "B," => Some(Figure::exact(figure.value / GIB)),
        _ => None,
    }
}

/// The amount that follows a name, in GiB.
pub(crate) fn amount_after(text: &str, name: &str) -> Option<Figure> {
    amount(after(text, name)?)
}

/// The sum of figures, bound by bound.
pub(crate) fn plus(a: Figure, b: Figure) -> Figure {
    Figure { value: a.value + b.value, low: a.low + b.low, high: a.high + b.high }
}

/// One figure less another, as wide as both allow.
pub(crate) fn minus(a: Figure, b: Figure) -> Figure {
    Figure { value: a.value - b.value, low: a.low - b.high, high: a.high - b.low }
}

/// A figure times a number that is not negative.
pub(crate) fn times(figure: Figure, by: f64) -> Figure {
    Figure { value: figure.value * by, low: figure.low * by, high: figure.high * by }
}

/// A quotient of two positive figures; `None` where the divisor may be nothing.
pub(crate) fn ratio(a: Figure, b: Figure) -> Option<Figure> {
    (b.low > 0.0).then(|| {
        let all = [a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high];
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Figure { value: a.value / b.value, low, high }
    })
}

/// What two sources for the same figure allow together; the first where they exclude each other.
pub(crate) fn both(a: Figure, b: Figure) -> Figure {
    let (low, high) = (a.low.max(b.low), a.high.min(b.high));
    if low > high { a } else { Figure { value: a.value.clamp(low, high), low, high } }
}

/// Whether two figures may be the same number.
pub(crate) fn meet(a: Figure, b: Figure) -> bool {
    a.low <= b.high && b.low <= a.high
}

/// Bytes as GiB, exactly.
pub(crate) fn bytes(bytes: f64) -> Figure {
    Figure::exact(bytes / GIB)
}

#[cfg(test)]
mod tests {
    use super::{amount, plain, rounded, whole};

    #[test]
    fn dropped_zeros_do_not_widen_a_figure() {
        let figure = rounded("80.0 GiB").expect("a number");
        assert!((figure.high - 80.005).abs() < 1e-9 && (figure.low - 79.995).abs() < 1e-9);
        let figure = rounded("16.9583 GB").expect("a number");
        assert!((figure.high - 16.95835).abs() < 1e-9);
        assert_eq!(rounded("-0.37 GiB").map(|figure| figure.value), Some(-0.37));
    }

    #[test]
    fn units_are_read_and_bytes_are_exact() {
        assert_eq!(amount("136.00 MiB. GPU").map(|figure| figure.value), Some(136.0 / 1024.0));
        assert_eq!(amount("15.77GiB)").map(|figure| figure.value), Some(15.77));
        let bytes = amount("114151137280 bytes").expect("an amount");
        assert!(bytes.low >= bytes.high && (bytes.value - 106.311).abs() < 1e-3);
        assert_eq!(amount("15.77"), None);
        assert_eq!(amount("15.77 \u{e9}\u{e9}"), None);
        assert_eq!(amount("<free>/121.69 GiB"), None);
    }

    #[test]
    fn whole_numbers_have_commas_or_not() {
        assert_eq!(whole("1,024 tokens"), Some(1024.0));
        assert_eq!(whole("23648)."), Some(23_648.0));
        assert_eq!(whole("99999999999999999999"), None);
        assert_eq!(whole("x"), None);
        assert_eq!(plain("0.92, 73.6"), Some(0.92));
        assert_eq!(plain("1.2.3"), None);
    }
}
