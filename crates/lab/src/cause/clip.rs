//! Bounds on what is kept of a line: a line of 100 MB must cost no more than a short one.

/// The longest part of a line that is looked at, in bytes. The longest line of use, an engine's dump of its arguments, has about 8 KiB.
pub(crate) const LOOKED_AT: usize = 64 << 10;

/// The longest part of a line that is kept, in bytes.
pub(crate) const KEPT: usize = 1000;

/// Cuts a text to at most `max` bytes, at a character border.
pub(crate) fn clip(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Takes terminal colour sequences out of a text of any lines, which stay lines; `None` where there are none, which is the usual case.
pub(crate) fn without_colour(text: &str) -> Option<String> {
    if !text.contains("\x1b[") {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 2..];
        // One that was cut off ends with its line.
        let end = tail.bytes().position(|byte| byte.is_ascii_alphabetic() || byte == b'\n').unwrap_or(tail.len());
        let is_whole = tail.as_bytes().get(end).is_some_and(|byte| *byte != b'\n');
        rest = &tail[end + usize::from(is_whole)..];
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{clip, without_colour};

    #[test]
    fn cutting_respects_characters() {
        assert_eq!(clip("aé", 2), "a");
        assert_eq!(clip("aé", 3), "aé");
    }

    #[test]
    fn colours_go_and_text_stays() {
        assert_eq!(without_colour("\x1b[1;36m(Worker pid=1)\x1b[0m x").as_deref(), Some("(Worker pid=1) x"));
        assert_eq!(without_colour("plain"), None);
        assert_eq!(without_colour("cut \x1b[1;3").as_deref(), Some("cut "));
        assert_eq!(without_colour("cut \x1b[1;3\nx\x1b[0m\n\x1b[").as_deref(), Some("cut \nx\n"));
    }
}
