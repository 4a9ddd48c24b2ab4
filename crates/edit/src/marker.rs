//! The mark that an edit leaves in its text: a word that occurs nowhere else, by which the edit is found, taken out, and kept out of commits.
//!
//! A mark is the id of its edit behind a fixed word, in a comment.

use std::fs::File;
use std::io::{self, Read as _};

use crate::encode;

/// What every mark begins with.
pub(crate) const PREFIX: &str = "bystander-patch-";
/// So many hex digits follow it.
pub(crate) const DIGITS: usize = 12;

/// A new id, which no other edit has.
pub(crate) fn new_id() -> io::Result<String> {
    let mut random = [0; DIGITS / 2];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(encode::hex(&random))
}

/// The mark of an edit.
pub(crate) fn of(id: &str) -> String {
    format!("{PREFIX}{id}")
}

/// The first mark in bytes: where it starts, and the id in it.
pub(crate) fn first(bytes: &[u8]) -> Option<(usize, String)> {
    all(bytes).next()
}

/// The marks in bytes: where each starts, and the id in it.
pub(crate) fn all(bytes: &[u8]) -> impl Iterator<Item = (usize, String)> + '_ {
    memchr::memmem::find_iter(bytes, PREFIX).filter_map(|at| Some((at, id_at(bytes, at)?)))
}

/// Bytes without a mark and the comment, or idle text, that holds it.
pub(crate) fn without(bytes: &[u8], mark: &[u8]) -> Vec<u8> {
    let Some(at) = memchr::memmem::find(bytes, mark) else { return bytes.to_vec() };
    let (head, tail) = (&bytes[..at], &bytes[at + mark.len()..]);
    if let (Some(head), Some(tail)) = (head.strip_suffix(b"'"), tail.strip_prefix(b"'")) {
        return [head.strip_suffix(b"; ").unwrap_or(head), tail].concat();
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let cut = |bytes: &[u8], goes: &dyn Fn(&u8) -> bool| bytes.len() - bytes.iter().rev().take_while(|byte| goes(byte)).count();
    let head = &head[..cut(head, &is_blank)];
    let head = &head[..cut(head, &|byte| !byte.is_ascii_whitespace())];
    let head = &head[..cut(head, &is_blank)];
    [head, tail.strip_prefix(b" */").unwrap_or(tail)].concat()
}

/// The ids of all marks in bytes.
pub(crate) fn ids(bytes: &[u8]) -> impl Iterator<Item = String> + '_ {
    memchr::memmem::find_iter(bytes, PREFIX).filter_map(|at| id_at(bytes, at))
}

/// The id of the mark at an offset, where there is one: exactly so many digits, and no more.
fn id_at(bytes: &[u8], at: usize) -> Option<String> {
    let start = at + PREFIX.len();
    let digits = bytes.get(start..start + DIGITS)?;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let ends = bytes.get(start + DIGITS).is_none_or(|next| !next.is_ascii_alphanumeric());
    (ends && digits.iter().all(is_digit)).then(|| String::from_utf8_lossy(digits).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{first, new_id, of, without};

    #[test]
    fn a_text_is_given_without_its_mark() {
        let bare = |text: &str| String::from_utf8(without(text.as_bytes(), b"MARK")).expect("text");
        assert_eq!(bare("; y=2  # MARK\n"), "; y=2\n");
        assert_eq!(bare(" log(); /* MARK */"), " log();");
        assert_eq!(bare("f(); 'MARK'; "), "f(); ");
        assert_eq!(bare("a\nb  -- MARK"), "a\nb");
        assert_eq!(bare("none"), "none");
    }

    #[test]
    fn a_mark_is_found_and_what_only_looks_like_one_is_not() {
        let id = new_id().expect("random bytes");
        assert_ne!(id, new_id().expect("random bytes"));
        let text = format!("bystander-patch- bystander-patch-zzzzzzzzzzzz x = 1  # {}\n", of(&id));
        assert_eq!(first(text.as_bytes()), Some((text.find('#').expect("there") + 2, id.clone())));
        assert_eq!(first(format!("{}0", of(&id)).as_bytes()), None, "a longer word");
        assert_eq!(first(b"bystander-patch-0123"), None);
    }
}
