//! Whole numbers as people write them on command lines: `131072`, `128k`, `128K`.

/// Reads a whole number above zero as vLLM reads those of its options: `k`, `m`, `g`, `t` are powers of 1,000 and may follow a decimal point, `K`, `M`,
/// `G`, `T` are powers of 1,024 and may not.
///
/// Source: vLLM 0.11 `engine/arg_utils.py`, later `utils/argparse_utils.py`: `human_readable_int`.
#[must_use]
pub fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    let number = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    // What else is a number in Rust, such as `1e9` and `.5`, is none to the engine.
    let is_number = number.split('.').all(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
    let factor: u64 = match &text[number.len()..] {
        "" => 1,
        "k" => 1000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    let is_decimal = factor > 1 && factor.is_multiple_of(1000);
    let found = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor)?,
        // The engine cuts as well what a decimal fraction leaves beyond the point.
        Err(_) if is_decimal => Some(number.parse::<f64>().ok()? * factor as f64).filter(|found| *found < 1e18)? as u64,
        Err(_) => return None,
    };
    (is_number && found > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn numbers_are_those_that_vllm_reads() {
        for (text, expected) in [
            ("131072", Some(131_072)),
            ("128k", Some(128_000)),
            ("128K", Some(131_072)),
            ("1m", Some(1_000_000)),
            ("1M", Some(1_048_576)),
            ("25.6k", Some(25_600)),
            ("0.5m", Some(500_000)),
            ("2g", Some(2_000_000_000)),
            ("24G", Some(24 << 30)),
            (" 8K ", Some(8192)),
            // Powers of 1,024 have no decimals.
            ("25.6K", None),
            ("1.5M", None),
            ("1.5", None),
            ("0", None),
            ("0k", None),
            ("0.0001k", None),
            ("-1", None),
            ("-1k", None),
            ("128kb", None),
            ("128Ki", None),
            ("128 K", None),
            ("k", None),
            (".5k", None),
            ("1e5", None),
            ("131,072", None),
            ("", None),
            ("99999999999999999999", None),
            ("99999999999999999T", None),
            ("9e9m", None),
            ("infm", None),
            ("\u{e9}k", None),
        ] {
            assert_eq!(count(text), expected, "{text:?}");
        }
    }
}
