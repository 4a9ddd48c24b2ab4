//! Whether a number that was written out can be held: above 2^53 digits are lost, and two numbers that differ would be the same.

/// Digits before the point that can always be held.
const SAFE: usize = 15;

/// What is said of a number that cannot be held.
pub const TOO_LONG: &str = "a number of more digits than can be compared, of which the last would be lost";

/// Whether a value holds every digit before the point of the text that it was read of, and those behind it as far as they are written.
#[must_use]
pub fn holds(text: &str, value: f64) -> bool {
    let digits = text.trim().trim_start_matches(['-', '+']);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() <= SAFE || !is_plain(whole) || !is_plain(rest) {
        return true;
    }
    let places = rest.len();
    let held = format!("{:.places$}", value.abs());
    held == if places > 0 { format!("{whole}.{rest}") } else { whole.to_owned() }
}

/// Whether a whole number can be held.
#[must_use]
pub fn holds_whole(value: i128) -> bool {
    (value as f64) as i128 == value
}

#[cfg(test)]
mod tests {
    use super::{holds, holds_whole};

    #[test]
    fn a_number_whose_digits_would_be_lost_is_told_from_one_whose_are_not() {
        let of = |text: &str| holds(text, text.parse().expect("a number"));
        for text in ["9007199254740992", "-9007199254740992", "1700000000000000000", "0009007199254740991", "0.1", "1e300", "3", "inf"] {
            assert!(of(text), "{text}");
        }
        for text in ["9007199254740993", "-9007199254740993", "1700000000123456789", "9007199254740993.0", "123456789012345678901234567890"]
        {
            assert!(!of(text), "{text}");
        }
        assert!(
            holds_whole(1 << 53) && !holds_whole((1 << 53) + 1) && holds_whole(i128::from(i64::MIN)) && !holds_whole(i128::from(u64::MAX))
        );
    }
}
