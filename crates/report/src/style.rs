//! How text is drawn: width, colour, characters. Colour only ever repeats what the words say.

use anstyle::AnsiColor;

/// How text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; longer lines are wrapped between words.
    pub width: usize,
    /// Whether escape codes for colour may be used.
    pub colour: bool,
    /// Whether characters beyond ASCII may be used for signs, such as a true minus.
    pub unicode: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, colour: false, unicode: true }
    }
}

/// What a piece of text is, where that deserves a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Heading,
    Good,
    Bad,
    Open,
}

impl Style {
    /// Wraps text into the codes of its role, or leaves it alone.
    pub(crate) fn paint(&self, role: Role, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let style = match role {
            Role::Heading => anstyle::Style::new().bold(),
            Role::Good => AnsiColor::Green.on_default().bold(),
            Role::Bad => AnsiColor::Red.on_default().bold(),
            Role::Open => AnsiColor::Yellow.on_default().bold(),
        };
        format!("{style}{text}{style:#}")
    }

    /// Replaces the signs that this crate uses by ASCII where that is asked for; other people's text stays as it is.
    pub(crate) fn signs(&self, text: String) -> String {
        if self.unicode {
            return text;
        }
        let mut plain = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '\u{2212}' | '\u{2013}' => plain.push('-'),
                '\u{d7}' => plain.push('x'),
                '\u{2026}' => plain.push_str("..."),
                '\u{b7}' => plain.push('|'),
                '\u{2192}' => plain.push_str("->"),
                '\u{201c}' | '\u{201d}' => plain.push('"'),
                other => plain.push(other),
            }
        }
        plain
    }
}
