//! Numbers as the answers say them.

/// A share in percent, without false precision.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A p value: three digits, or that it is below a thousandth.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// Four significant digits, with a true minus sign; what is whole has no decimals.
pub(crate) fn figure(value: f64) -> String {
    let is_whole = value.fract() == 0.0;
    let digits = if is_whole || !value.is_finite() { 0 } else { (3 - value.abs().log10().floor() as i32).clamp(0, 9) };
    let text = format!("{value:.*}", usize::try_from(digits).unwrap_or(0));
    text.replace('-', "\u{2212}")
}

/// The same with its sign always shown.
pub(crate) fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", figure(value)) } else { figure(value) }
}

/// `1 look`, `3 looks`; `many` is the plural.
pub(crate) fn count(n: u32, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `1 block`, `3 blocks`.
pub(crate) fn blocks(n: u32) -> String {
    count(n, "block", "blocks")
}

/// `1 comparison`, `3 comparisons`.
pub(crate) fn comparisons(n: usize) -> String {
    count(u32::try_from(n).unwrap_or(u32::MAX), "comparison", "comparisons")
}

/// `1 launch`, `3 launches`.
pub(crate) fn launches(n: u32) -> String {
    count(n, "launch", "launches")
}

#[cfg(test)]
mod tests {
    use super::{figure, p_value, percent, signed};

    #[test]
    fn numbers_are_short_and_keep_their_sign() {
        assert_eq!(figure(-314.0), "\u{2212}314");
        assert_eq!(figure(-314.5), "\u{2212}314.5");
        assert_eq!(figure(159_171.0), "159171");
        assert_eq!(figure(0.012_345_6), "0.01235");
        assert_eq!(figure(0.0), "0");
        assert_eq!(signed(2.5), "+2.500");
        assert_eq!(signed(15.0), "+15");
        assert_eq!(percent(0.450_7), "45 %");
        assert_eq!(p_value(0.028_6), "p = 0.029");
        assert_eq!(p_value(0.000_01), "p < 0.001");
    }
}
