//! Releases of an engine, and which of them the lines of a log allow.
//!
//! Some engines say their version, others are told from how their lines look: each mark narrows the range. An empty intersection, as with forks and
//! builds between releases, is "unknown".

use std::cmp::{max, min};
use std::fmt;

use bystander_model::budget::VersionRange;

/// A release such as 0.5.9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub u32, pub u32, pub u32);

impl Release {
    /// Before every release.
    pub const OLDEST: Self = Self(0, 0, 0);
    /// After every release.
    pub const NEWEST: Self = Self(u32::MAX, u32::MAX, u32::MAX);

    /// Reads the numbers at the start of a version, such as `v0.8.5.post1` or `0.29.1rc1`; what follows the third number is not kept.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let mut numbers = text[..end].trim_end_matches('.').split('.');
        let (major, minor) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        let patch = numbers.next().map_or(Some(0), |patch| patch.parse().ok())?;
        Some(Self(major, minor, patch))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A text, and the releases that print it.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    /// What stands in the line.
    pub text: &'static str,
    /// The first release that prints it.
    pub low: Release,
    /// The last one.
    pub high: Release,
}

/// The releases that the evidence so far allows, and the evidence.
#[derive(Debug, Clone)]
pub struct Versions {
    low: Release,
    high: Release,
    said: Option<String>,
    from: Vec<String>,
}

impl Default for Versions {
    fn default() -> Self {
        Self { low: Release::OLDEST, high: Release::NEWEST, said: None, from: Vec::new() }
    }
}

impl Versions {
    /// Allows only what lies in a range; `from` says why, such as `server.log:9: Memory baseline taken.`
    pub fn narrow(&mut self, low: Release, high: Release, from: impl FnOnce() -> String) {
        if low <= self.low && high >= self.high {
            return;
        }
        self.low = max(self.low, low);
        self.high = min(self.high, high);
        self.from.push(from());
    }

    /// Takes the version that the engine says of itself; it counts above all marks.
    pub fn state(&mut self, text: &str, from: impl FnOnce() -> String) {
        let Some(release) = Release::parse(text) else { return };
        if self.said.is_none() {
            (self.low, self.high) = (release, release);
            self.said = Some(text.trim().trim_start_matches('v').to_owned());
            self.from = vec![from()];
        }
    }

    /// Whether the engine said it.
    #[must_use]
    pub const fn is_stated(&self) -> bool {
        self.said.is_some()
    }

    /// Whether the evidence allows at least one release.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.low <= self.high
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.low == Release::OLDEST && self.high == Release::NEWEST
    }

    /// Whether every allowed release is at least this one.
    #[must_use]
    pub fn is_from(&self, low: Release) -> bool {
        self.is_possible() && self.low >= low
    }

    /// Whether every allowed release is at most this one.
    #[must_use]
    pub fn is_up_to(&self, high: Release) -> bool {
        self.is_possible() && self.high <= high
    }

    /// Whether no allowed release lies outside of a range.
    #[must_use]
    pub fn is_within(&self, low: Release, high: Release) -> bool {
        self.is_from(low) && self.is_up_to(high)
    }

    /// Whether every allowed release lies outside of a range.
    #[must_use]
    pub fn excludes(&self, low: Release, high: Release) -> bool {
        self.is_possible() && (self.high < low || self.low > high)
    }

    /// The oldest and the newest release that are allowed.
    #[must_use]
    pub const fn bounds(&self) -> (Release, Release) {
        (self.low, self.high)
    }

    /// The range for a report.
    #[must_use]
    pub fn range(&self) -> VersionRange {
        let name = |release: Release, open: Release| {
            let known = self.is_possible() && release != open;
            known.then(|| self.said.clone().unwrap_or_else(|| release.to_string()))
        };
        VersionRange { low: name(self.low, Release::OLDEST), high: name(self.high, Release::NEWEST), from: self.from.clone() }
    }

    /// The range in words, such as `0.5.7 to 0.5.9`, `0.5.9`, `0.5.14 or newer`, `unknown`.
    #[must_use]
    pub fn words(&self) -> String {
        let VersionRange { low, high, .. } = self.range();
        match (low, high) {
            (Some(low), Some(high)) if low == high => low,
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("{low} or newer"),
            (None, Some(high)) => format!("{high} or older"),
            (None, None) => "unknown".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Release, Versions};

    #[test]
    fn versions_are_read_from_all_their_spellings() {
        assert_eq!(Release::parse("v0.8.5.post1"), Some(Release(0, 8, 5)));
        assert_eq!(Release::parse("0.29.1rc1+gabc"), Some(Release(0, 29, 1)));
        assert_eq!(Release::parse("0.33"), Some(Release(0, 33, 0)));
        assert_eq!(Release::parse("dev"), None);
        assert_eq!(Release::parse("7"), None);
        assert_eq!(Release::parse("99999999999.1.1"), None);
    }

    #[test]
    fn marks_narrow_and_contradictions_leave_nothing() {
        let mut versions = Versions::default();
        assert!(versions.is_open() && versions.words() == "unknown");
        versions.narrow(Release(0, 5, 7), Release(0, 5, 15), || "a".into());
        versions.narrow(Release::OLDEST, Release(0, 5, 9), || "b".into());
        versions.narrow(Release::OLDEST, Release(0, 5, 18), || unreachable!("it says nothing new"));
        assert_eq!(versions.words(), "0.5.7 to 0.5.9");
        assert!(versions.is_within(Release(0, 5, 7), Release(0, 5, 9)) && versions.excludes(Release(0, 5, 10), Release::NEWEST));
        versions.narrow(Release(0, 5, 14), Release::NEWEST, || "c".into());
        assert!(!versions.is_possible() && versions.words() == "unknown" && !versions.excludes(Release(0, 9, 0), Release::NEWEST));
    }

    #[test]
    fn what_the_engine_says_counts_above_marks() {
        let mut versions = Versions::default();
        versions.narrow(Release(0, 11, 0), Release(0, 17, 1), || "mark".into());
        versions.state("v0.25.1rc2", || "line 1".into());
        versions.state("0.9.2", || unreachable!("the first one counts"));
        assert_eq!((versions.words().as_str(), versions.is_stated()), ("0.25.1rc2", true));
    }
}
