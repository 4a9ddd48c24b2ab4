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

/// A line that was copied out of the source of a page has its quotation marks written as entities.
fn unescaped(text: Cow<'_, str>) -> Cow<'_, str> {
    if !["&#39;", "&#x27;", "&quot;"].iter().any(|quote| text.contains(quote)) {
        return text;
    }
    let entities = [("&#39;", "'"), ("&#x27;", "'"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    Cow::Owned(entities.iter().fold(text.into_owned(), |text, (entity, character)| text.replace(entity, character)))
}

/// The text of a raw line, without its line end.
pub(crate) fn text(raw: &[u8]) -> Cow<'_, str> {
    let end = raw.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let text = unescaped(String::from_utf8_lossy(&raw[..end]));
    let may_be_coloured = text.bytes().any(|byte| byte == 0x1b || byte == 0xc2) || text.contains("[0m") || text.contains("\\u001b[");
    if !may_be_coloured {
        return text;
    }
    Cow::Owned(ESCAPES.replace_all(&text, "").into_owned())
}
