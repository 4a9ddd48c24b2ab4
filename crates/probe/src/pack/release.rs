//! Releases of an engine, and ranges of them: `>=0.5.7, <0.5.10`.

use std::fmt;

/// A release by its numbers; what follows them (`.post1`, `rc0`, `.dev3+g1234`) does not count: such builds have the code of the release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(Vec<u64>);

impl Release {
    /// Reads the numbers of a version; `None` where there are none, or only zeros, as in a build that knows no version.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.split_once('!').map_or(text, |(_, rest)| rest);
        let mut numbers = Vec::new();
        for part in text.trim_start_matches('v').split('.') {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let Ok(number) = part[..digits].parse() else { break };
            numbers.push(number);
            if digits < part.len() {
                break;
            }
        }
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        (!numbers.is_empty()).then_some(Self(numbers))
    }
}

/// Releases from one on, below another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseRange {
    text: String,
    from: Option<Release>,
    below: Option<Release>,
}

impl ReleaseRange {
    /// Reads `>=A`, `<B` or both with a comma between; the part that does not fit is the error.
    ///
    /// # Errors
    /// The part.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut range = Self { text: text.to_owned(), from: None, below: None };
        for part in text.split(',').map(str::trim) {
            let (slot, version) = match (part.strip_prefix(">="), part.strip_prefix('<')) {
                (Some(version), _) => (&mut range.from, version),
                (_, Some(version)) => (&mut range.below, version),
                _ => return Err(part.to_owned()),
            };
            match Release::parse(version) {
                Some(release) if slot.is_none() => *slot = Some(release),
                _ => return Err(part.to_owned()),
            }
        }
        Ok(range)
    }

    /// Tells whether a release lies in the range.
    #[must_use]
    pub fn holds(&self, release: &Release) -> bool {
        self.from.as_ref().is_none_or(|from| release >= from) && self.below.as_ref().is_none_or(|below| release < below)
    }
}

impl fmt::Display for ReleaseRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Release, ReleaseRange};

    #[test]
    fn builds_of_a_release_have_its_numbers() {
        let release = |text: &str| Release::parse(text).expect(text);
        for (text, same) in [
            ("0.5.9", "0.5.9.post1"),
            ("0.5.10", "0.5.10rc0"),
            ("0.11.1", "0.11.1.dev123+g1a2b"),
            ("0.9", "0.9.0"),
            ("0.5.9", "v0.5.9+cu129"),
            ("1.2", "1!1.2"),
        ] {
            assert_eq!(release(text), release(same), "{text} {same}");
        }
        assert!(release("0.5.9") < release("0.5.10") && release("0.9.2") < release("0.10"), "numbers, not letters");
        for text in ["", "main", "0.0.0", "0.0.0.dev1+g12", "dev0"] {
            assert_eq!(Release::parse(text), None, "{text}");
        }
        assert_eq!(Release::parse("99999999999999999999999.1"), None);
    }

    #[test]
    fn a_range_takes_its_lower_end_and_not_its_upper() {
        let range = ReleaseRange::parse(">=0.5.7, <0.5.10").expect("a range");
        let holds = |text: &str| range.holds(&Release::parse(text).expect(text));
        assert_eq!(["0.5.6", "0.5.7", "0.5.9.post2", "0.5.10rc1", "0.5.10", "0.6"].map(holds), [false, true, true, false, false, false]);
        assert!(ReleaseRange::parse("<1").expect("a range").holds(&Release::parse("0.1").expect("a release")));
        for text in ["", "0.5", "==0.5", ">=x", ">=0.5, >=0.6", ">=0.5,"] {
            assert!(ReleaseRange::parse(text).is_err(), "{text}");
        }
    }
}
