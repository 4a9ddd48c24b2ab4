//! Bytes to text: colours and other orders to a terminal off, what is not UTF-8 replaced.

use std::borrow::Cow;
use std::sync::LazyLock;

use bystander_model::reading::LogBlock;
use memchr::memmem;
use regex::Regex;

/// Escape sequences: colours and cursor (`ESC [`), titles and links (`ESC ]`), and single characters; also colours whose escape byte a viewer has cut
/// or written as text.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("(?:\x1b|\u{9b}|\\\\x1b|\\\\u001b|\\\\033|\\^\\[)\\[[0-9;:?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[()][0-9A-Za-z]|\x1b[@-Z\\\\^_=>]|\\[(?:0|1|3[0-7]|9[0-7]|0;3[0-7]|1;3[0-7])m")
        .expect("a literal pattern")
});

/// What begins an order to a terminal where a log is kept as JSON, which has no escape byte.
const WRITTEN: &[u8] = b"\\u001b";

/// Lines without their orders to a terminal, so that a text is found wherever a colour changes within it; `None` where there are none, which is the usual
/// case. Line ends all stay.
pub(crate) fn without_orders(lines: &[u8]) -> Option<Vec<u8>> {
    // Only where lines are objects: the search costs as much as all others.
    let is_json = memchr::memchr(b'\n', lines).is_some_and(|end| lines.first() == Some(&b'{') || lines.get(end + 1) == Some(&b'{'));
    let introducer = [&b"\x1b"[..], WRITTEN].into_iter().take(1 + usize::from(is_json)).find(|it| memmem::find(lines, it).is_some())?;
    let finder = memmem::Finder::new(introducer);
    let mut plain = Vec::with_capacity(lines.len());
    let mut rest = lines;
    while let Some(at) = finder.find(rest) {
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at + introducer.len()..];
        rest = &rest[order(rest)..];
    }
    plain.extend_from_slice(rest);
    Some(plain)
}

/// What a trial printed, without orders to a terminal, handed to a reader.
pub(crate) fn plainly(block: &LogBlock<'_>, read: impl FnOnce(&LogBlock<'_>)) {
    match without_orders(block.text.as_bytes()) {
        None => read(block),
        Some(plain) => read(&LogBlock { text: &String::from_utf8_lossy(&plain), ..*block }),
    }
}

/// How long an order is behind what begins it; one that is cut ends with its line.
fn order(rest: &[u8]) -> usize {
    let until = |from: usize, ends: fn(u8) -> bool| {
        let end = rest.iter().skip(from).position(|byte| *byte == b'\n' || ends(*byte)).map_or(rest.len(), |end| from + end);
        end + usize::from(rest.get(end).is_some_and(|byte| *byte != b'\n'))
    };
    match rest.first() {
        Some(b'[') => until(1, |byte| (b'@'..=b'~').contains(&byte)),
        // A title or a link; where an escape ends it, its backslash is left to stand.
        Some(b']') => until(1, |byte| matches!(byte, 7 | 0x1b)),
        // A set of characters, as `tput sgr0` names one.
        Some(b'(' | b')') => 1 + usize::from(rest.get(1).is_some_and(|byte| *byte != b'\n')),
        Some(b'\n') | None => 0,
        Some(_) => 1,
    }
}

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
