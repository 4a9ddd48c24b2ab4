//! What stands in one line: a progress bar overwrites itself with carriage returns, and its line is then several texts, one after the other.

use regex::Regex;

/// The texts of a line in the order in which they were written; those that are empty are left out, unless the line is.
pub(super) fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let whole = !line.contains('\r');
    line.split('\r').filter(move |piece| whole || !piece.is_empty())
}

/// Every match of a pattern in a line: what its first group holds, with the text that it stands in.
pub(super) fn matches<'a>(pattern: &'a Regex, line: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    pieces(line).flat_map(|piece| pattern.captures_iter(piece).filter_map(move |found| Some((found.get(1)?.as_str(), piece))))
}

#[cfg(test)]
mod tests {
    use super::{matches, pieces};
    use regex::Regex;

    #[test]
    fn every_text_of_a_line_and_every_match_in_it_is_found() {
        assert_eq!(pieces("a\rb\r").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(pieces("").collect::<Vec<_>>(), [""]);
        let pattern = Regex::new(r"x=(\d+)").expect("a pattern");
        let found = |line: &'static str| matches(&pattern, line).collect::<Vec<_>>();
        assert_eq!(found("x=5 x=9"), [("5", "x=5 x=9"), ("9", "x=5 x=9")]);
        assert_eq!(found("\rx=10\rx=20\r\rx=30"), [("10", "x=10"), ("20", "x=20"), ("30", "x=30")]);
        let anchored = Regex::new(r"^x=(\d+)$").expect("a pattern");
        assert_eq!(matches(&anchored, "0\rx=1\rx=2").map(|(value, _)| value).collect::<Vec<_>>(), ["1", "2"]);
    }
}
