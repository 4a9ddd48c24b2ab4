//! Releases of engines, in their order.

use std::fmt;

/// A release such as `0.5.9`; what follows the third number (`.post1`, `rc2`, `+cu128`) does not change a rule and is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub u16, pub u16, pub u16);

impl Release {
    /// Reads a release, with or without a `v`; `None` where the text does not begin with two numbers.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let mut parts = text.strip_prefix(['v', 'V']).unwrap_or(text).split('.');
        let first = whole(parts.next()?)?;
        let second = leading(parts.next()?)?;
        Some(Self(first, second, parts.next().and_then(leading).unwrap_or(0)))
    }
}

fn whole(text: &str) -> Option<u16> {
    text.parse().ok()
}

fn leading(text: &str) -> Option<u16> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::Release;

    #[test]
    fn releases_are_read_and_ordered() {
        assert_eq!(Release::parse("v0.5.9"), Some(Release(0, 5, 9)));
        assert_eq!(Release::parse("0.4.3.post4"), Some(Release(0, 4, 3)));
        assert_eq!(Release::parse("0.29.1rc1"), Some(Release(0, 29, 1)));
        assert_eq!(Release::parse("0.33"), Some(Release(0, 33, 0)));
        assert_eq!(Release::parse("main"), None);
        assert_eq!(Release::parse("0"), None);
        assert!(Release(0, 5, 10) > Release(0, 5, 9));
    }
}
