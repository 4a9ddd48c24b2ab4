//! A number as programs print it.

/// Reads a number; digits in groups of three are one, as in `1,048,576`. Anything else that is no number is `None`: a comma may be a decimal point
/// where the program speaks another language, and a guess would be a factor of a thousand.
pub(super) fn figure(text: &str) -> Option<f64> {
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
    use super::figure;

    #[test]
    fn digits_in_groups_of_three_are_one_number() {
        assert_eq!(figure("1,048,576"), Some(1_048_576.0));
        assert_eq!(figure("-2,097,152.5"), Some(-2_097_152.5));
        assert_eq!(figure("12"), Some(12.0));
        assert_eq!(figure("1e6"), Some(1e6));
        for text in ["0,5", "1,04", "1,0485", ",123", "12,", "1,048,57", "1,04a", "1.234,567", "1234,567", ""] {
            assert_eq!(figure(text), None, "{text}");
        }
    }
}
