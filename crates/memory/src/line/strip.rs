//! Bytes to text: colours and other orders to a terminal off, what is not UTF-8 replaced.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Escape sequences: colours and cursor (`ESC [`), titles and links (`ESC ]`), and single characters; also colours whose escape byte a viewer has cut
/// or written as text.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("(?:\x1b|\u{9b}|\\\\x1b|\\\\u001b|\\\\033|\\^\\[)\\[[0-9;:?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\^_=>]|\\[(?:0|1|3[0-7]|9[0-7]|0;3[0-7]|1;3[0-7])m")
        .expect("a literal pattern")
});

/// The text of a raw line, without its line end.
pub(crate) fn text(raw: &[u8]) -> Cow<'_, str> {
    let end = raw.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let text = String::from_utf8_lossy(&raw[..end]);
    let may_be_coloured = text.bytes().any(|byte| byte == 0x1b || byte == 0xc2) || text.contains("[0m") || text.contains("\\u001b[");
    if !may_be_coloured {
        return text;
    }
    Cow::Owned(ESCAPES.replace_all(&text, "").into_owned())
}
