//! What a line says, apart from how a terminal is to show it: colours and other orders left out, and split where it overwrites itself.
//!
//! A pattern is written for what a person reads. So it is looked for in the plain texts of a line first, and then in the line as it is, for patterns that
//! are about the orders themselves.

use std::borrow::Cow;

/// What orders to a terminal begin with.
const ESCAPE: u8 = 0x1b;

/// Whether a text holds orders to a terminal.
#[must_use]
pub fn has_orders(text: &[u8]) -> bool {
    memchr::memchr(ESCAPE, text).is_some()
}

/// A text without orders to a terminal. What moves the cursor becomes a carriage return: what stands behind it stands elsewhere. Line ends all stay.
#[must_use]
pub fn without_orders(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(mut found) = memchr::memchr(ESCAPE, text) else { return Cow::Borrowed(text) };
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    loop {
        out.extend_from_slice(&rest[..found]);
        let (length, moves) = order(&rest[found..]);
        if moves {
            out.push(b'\r');
        }
        rest = &rest[found + length..];
        let Some(next) = memchr::memchr(ESCAPE, rest) else { break };
        found = next;
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// The same of a text.
#[must_use]
pub fn text_without_orders(text: &str) -> Cow<'_, str> {
    match without_orders(text.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        // Orders are cut out between whole characters.
        Cow::Owned(bytes) => {
            Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
        }
    }
}

/// The length of the order that a text begins with, and whether it moves the cursor. One that is not whole ends where it stops being one.
fn order(text: &[u8]) -> (usize, bool) {
    match text.get(1) {
        Some(b'[') => {
            let parameters = text[2..].iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            match text.get(2 + parameters) {
                Some(last @ 0x40..=0x7e) => (3 + parameters, matches!(last, b'A'..=b'H' | b'f' | b'd')),
                _ => (2 + parameters, false),
            }
        }
        // A title or a link, up to its end in the same line.
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let end = text[2..].iter().position(|byte| matches!(byte, 0x07 | 0x1b | b'\n'));
            match end.map(|end| (2 + end, &text[2 + end..])) {
                Some((end, [0x07, ..])) => (end + 1, false),
                Some((end, [ESCAPE, b'\\', ..])) => (end + 2, false),
                _ => (2, false),
            }
        }
        Some(0x20..=0x2f) => {
            let between = text[1..].iter().take_while(|byte| matches!(byte, 0x20..=0x2f)).count();
            (1 + between + usize::from(matches!(text.get(1 + between), Some(0x30..=0x7e))), false)
        }
        Some(0x30..=0x7e) => (2, false),
        _ => (1, false),
    }
}

/// The texts of a line in the order in which they were written: a progress bar overwrites itself with carriage returns. Its line end may be one of Windows.
/// Those that are empty are left out, unless the line is.
pub fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let whole = !line.contains('\r');
    line.split('\r').filter(move |piece| whole || !piece.is_empty())
}

/// What is found first in the plain texts of a line, else in the line as it is.
pub fn find<T>(line: &str, mut look: impl FnMut(&str) -> Option<T>) -> Option<T> {
    if memchr::memchr2(ESCAPE, b'\r', line.as_bytes()).is_none() {
        return look(line);
    }
    let plain = text_without_orders(line);
    pieces(&plain).find_map(&mut look).or_else(|| look(line))
}

/// Whether something holds of a plain text of a line, or of the line as it is; of bytes, which need not be text.
pub fn any(line: &[u8], mut holds: impl FnMut(&[u8]) -> bool) -> bool {
    if memchr::memchr2(ESCAPE, b'\r', line).is_none() {
        return holds(line);
    }
    let plain = without_orders(line);
    let body = plain.strip_suffix(b"\r").unwrap_or(&plain);
    let whole = memchr::memchr(b'\r', body).is_none();
    body.split(|byte| *byte == b'\r').any(|piece| (whole || !piece.is_empty()) && holds(piece)) || holds(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{any, find, pieces, text_without_orders};

    #[test]
    fn orders_to_a_terminal_are_left_out_and_nothing_else() {
        for (line, plain) in [
            ("plain", "plain"),
            ("\x1b[32mready\x1b[0m to roll", "ready to roll"),
            ("\x1b[38;5;196mtok=\x1b[m5", "tok=5"),
            ("\x1b]0;title\x07a", "a"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b(Ba\x1b7b\x1bc", "ab"),
            ("50%\x1b[1G60%", "50%\r60%"),
            ("a\x1b[2K\rb", "a\rb"),
            ("a\x1b[", "a"),
            ("a\x1b[3\u{e9}", "a\u{e9}"),
            ("a\x1b", "a"),
            ("\x1b]never ended", "never ended"),
            ("\x1b]never\nended\x07", "never\nended\x07"),
            ("a\x1b\nb\x1b[3\nc", "a\nb\nc"),
        ] {
            assert_eq!(text_without_orders(line), plain, "{line:?}");
        }
    }

    #[test]
    fn a_line_is_what_was_written_one_after_the_other() {
        let of = |line: &'static str| pieces(line).collect::<Vec<_>>();
        assert_eq!((of("a\rb\r"), of("a\r"), of(""), of("\r"), of("\r\ra")), (vec!["a", "b"], vec!["a"], vec![""], vec![""], vec!["a"]));
    }

    #[test]
    fn a_pattern_is_looked_for_in_the_plain_texts_and_then_in_the_line_as_it_is() {
        let is = |line: &str, wanted: &str| {
            let found = find(line, |text| (text == wanted).then_some(())).is_some();
            assert_eq!(found, any(line.as_bytes(), |text| text == wanted.as_bytes()), "{line:?}");
            found
        };
        for line in ["ready", "ready\r", "\x1b[32mre\x1b[0mady", "50%\rready\r", "\x1b[32mready\x1b[0m\r"] {
            assert!(is(line, "ready"), "{line:?}");
        }
        assert!(is("\x1b[32mready", "\x1b[32mready"), "a pattern that is about colours");
        assert!(is("\r", "") && !is("x\ry", ""));
    }

    proptest! {
        #[test]
        fn line_ends_all_stay(text in "[a\x1b\\[\\]m3;\x07\n\r\u{e9}]{0,30}") {
            prop_assert_eq!(text_without_orders(&text).matches('\n').count(), text.matches('\n').count());
        }
    }
}
