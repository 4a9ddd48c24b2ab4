//! Text for a terminal: made safe, cut, split into sentences, wrapped. Widths are columns, not characters.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Makes text of a program safe for a terminal: one line, and control characters visible instead of obeyed.
pub(crate) fn clean(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\t' | '\r' => safe.push(' '),
            c if c.is_control() || is_bidirectional(c) => safe.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe
}

/// Marks that reorder the text around them.
fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Cuts text to a number of columns, with a sign that it was cut.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        short.push(c);
    }
    short.push('\u{2026}');
    short
}

/// Takes as many whole sentences as fit into a number of columns, at least one; the rest is marked as left out.
pub(crate) fn sentences(text: &str, columns: usize) -> String {
    let ends = text.match_indices(". ").map(|(at, _)| at + 1).filter(|end| text[*end..].trim_start().starts_with(char::is_uppercase));
    let mut taken = text.len();
    if text.width() > columns {
        let ends: Vec<usize> = ends.collect();
        taken = ends.iter().copied().rfind(|end| text[..*end].width() + 2 <= columns).or(ends.first().copied()).unwrap_or(text.len());
    }
    if taken == text.len() { text.to_owned() } else { format!("{} \u{2026}", &text[..taken]) }
}

/// A space at which no line is broken; the page writes it as a space.
pub(crate) const GLUE: char = '\u{a0}';

/// Breaks text at spaces into lines; the first one has less room by `lead` columns. A word that is longer than a line stays whole, so
/// that paths can be copied.
pub(crate) fn wrap(text: &str, columns: usize, lead: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut room = columns.saturating_sub(lead);
    // A figure and its sign stay together.
    let text = whole_commands(text).replace(" %", &format!("{GLUE}%"));
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let gap = usize::from(!line.is_empty());
        let starts_whole_line = line.is_empty() && room == columns;
        if line.width() + gap + word.width() > room && !starts_whole_line {
            lines.push(std::mem::take(&mut line));
            room = columns;
        } else if gap == 1 {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// A text in which no line is broken within a command, so that it can be copied: `bystander …` between backticks.
fn whole_commands(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| match index % 2 {
        1 if part.starts_with("bystander ") => part.replace(' ', &GLUE.to_string()),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Writes a number with its noun: `1 launch`, `3 launches`; `many` is the plural.
#[must_use]
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", crate::number::integer(i64::try_from(n).unwrap_or(i64::MAX)), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use unicode_width::UnicodeWidthStr as _;

    use super::{clean, sentences, shorten, wrap};

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(clean(" a\tb\nc\x1b[31m\u{202e}x "), "a b c\\u{1b}[31m\\u{202e}x");
    }

    #[test]
    fn whole_sentences_are_kept() {
        let text = "It fails (p = 0.029). One is enough. That is all.";
        assert_eq!(sentences(text, 100), text);
        assert_eq!(sentences(text, 40), "It fails (p = 0.029). One is enough. \u{2026}");
        assert_eq!(sentences(text, 5), "It fails (p = 0.029). \u{2026}");
        assert_eq!(sentences("no end and no. capital", 5), "no end and no. capital");
    }

    #[test]
    fn lines_break_between_words_and_after_the_lead() {
        assert_eq!(wrap("aa bb cc", 5, 0), ["aa bb", "cc"]);
        assert_eq!(wrap("aa bb cc", 5, 3), ["aa", "bb cc"]);
        assert_eq!(wrap("aa bb", 5, 4), ["", "aa bb"]);
        assert_eq!(wrap("/a/very/long/path x", 5, 0), ["/a/very/long/path", "x"]);
        assert_eq!(wrap("\u{5185}\u{5b58} x", 5, 0), ["\u{5185}\u{5b58}", "x"], "wide characters take two columns");
        assert_eq!(wrap("", 5, 0), [""]);
        assert_eq!(wrap("up to 45 % of", 9, 0), ["up to", "45\u{a0}% of"]);
    }

    proptest! {
        #[test]
        fn nothing_panics_and_no_word_is_lost(text in any::<String>(), columns in 0_usize..40, lead in 0_usize..40) {
            let safe = clean(&text);
            assert!(!safe.chars().any(char::is_control));
            assert!(shorten(&safe, columns.max(1)).width() <= columns.max(1) || safe.width() <= columns);
            sentences(&safe, columns);
            let words: Vec<String> = safe.replace(super::GLUE, " ").split_ascii_whitespace().map(str::to_owned).collect();
            let wrapped: Vec<String> = wrap(&safe, columns, lead).join(" ").replace(super::GLUE, " ").split_ascii_whitespace().map(str::to_owned).collect();
            assert_eq!(wrapped, words);
        }
    }
}
