//! Text that fits a line of the screen, whatever is in it.

use unicode_width::UnicodeWidthChar as _;

/// A text in one line: no control character, no escape sequence, no invisible sign that moves what stands beside it, and blanks where white space was.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\t' => out.push(' '),
            // Directions of writing, and signs without width: a log must not rearrange the line that it is shown in.
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

/// Passes over what belongs to an escape: a sequence that begins with `[` up to its letter, a title up to its end, else one character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => {
            while chars.next_if(|c| !('@'..='~').contains(c)).is_some() {}
            chars.next();
        }
        Some(']' | 'P' | '_' | '^') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// A text cut to columns, with an ellipsis where it was cut.
pub(super) fn clipped(text: &str, columns: usize) -> String {
    let wide = |c: char| c.width().unwrap_or(0);
    if text.chars().map(wide).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut out = String::new();
    for c in text.chars() {
        let Some(rest) = left.checked_sub(wide(c)) else { break };
        left = rest;
        out.push(c);
    }
    if columns > 0 {
        out.push('\u{2026}');
    }
    out
}

/// Bytes with three digits and a binary unit.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match (unit, value) {
        (0, value) => format!("{value:.0} B"),
        (unit, value) if value < 9.995 => format!("{value:.2} {}", UNITS[unit]),
        (unit, value) if value < 99.95 => format!("{value:.1} {}", UNITS[unit]),
        (unit, value) => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// A span of time as a person says it: `0.4 s`, `42 s`, `3 min 20 s`, `2 h 05 min`.
pub(super) fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        _ if seconds < 9.95 => format!("{:.1} s", seconds.max(0.0)),
        0..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, clean, clipped, span};

    #[test]
    fn nothing_that_a_program_prints_moves_the_cursor() {
        let cases = [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("50%\r100%", "50%100%"),
            ("a\tb\u{8}\u{7}", "a b"),
            ("\u{202e}evil\u{2066}", "evil"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("x\u{9b}31my", "x31my"),
        ];
        for (text, wanted) in cases {
            assert_eq!(clean(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_line_is_no_wider_than_the_screen() {
        assert_eq!(clipped("abcdef", 6), "abcdef");
        assert_eq!(clipped("abcdef", 4), "abc\u{2026}");
        assert_eq!(clipped("\u{65e5}\u{672c}\u{8a9e}", 5), "\u{65e5}\u{672c}\u{2026}");
        assert_eq!((clipped("abc", 1), clipped("abc", 0)), ("\u{2026}".to_owned(), String::new()));
    }

    #[test]
    fn sizes_and_spans_have_three_digits_at_most() {
        let sizes = [0, 999, 1000, 1 << 20, 10 << 30, u64::MAX].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "0.98 KiB", "1.00 MiB", "10.0 GiB", "16777216 TiB"]);
        let spans = [0.04, 9.94, 9.96, 119.0, 200.0, 7300.0, -1.0].map(span);
        assert_eq!(spans, ["0.0 s", "9.9 s", "10 s", "119 s", "3 min 20 s", "2 h 01 min", "0.0 s"]);
    }
}
