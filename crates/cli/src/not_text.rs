//! A word of the command line that must be text and is of other bytes, by the name of its argument.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use bystander_model::typed::escaped;
use clap::Parser as _;
use clap::error::ErrorKind;

use crate::args::Args;
use crate::failure::Failure;

/// Says which word it is that the command line was refused for. Paths, commands and the texts of edits may be of any bytes.
pub(crate) fn refused(words: &[OsString]) -> Failure {
    let is_text = |word: &OsStr| word.to_str().is_some();
    let as_text = |word: &OsString| OsString::from(word.to_string_lossy().into_owned());
    let is_refused = |index: usize| {
        let others = words.iter().enumerate().map(|(other, word)| if other == index { word.clone() } else { as_text(word) });
        Args::try_parse_from(others).is_err_and(|error| error.kind() == ErrorKind::InvalidUtf8)
    };
    let Some(index) = (1..words.len()).find(|index| !is_text(&words[*index]) && is_refused(*index)) else {
        return Failure::user("failed to read the command line: a word of it is not UTF-8");
    };
    let word = escaped(words[index].as_encoded_bytes());
    let joined = word.split_once('=').filter(|(option, _)| option.starts_with("--"));
    let before = words[index - 1].to_str().filter(|option| option.starts_with('-') && *option != "--");
    let failure = match joined.or_else(|| Some((before?, word.as_str()))) {
        Some((option, value)) => Failure::user(format!("failed to read {option}: its value `{value}` is not UTF-8")),
        None => Failure::user(format!("failed to read the argument `{word}`: it is not UTF-8")),
    };
    failure
        .hint("paths, the command after `--`, and the texts of --find, --replace, --insert-after and --insert-before may be of any bytes")
}

/// Refuses a path that no record can hold; `what` it is, such as "the working directory".
pub(crate) fn path(what: &str, path: &Path) -> Result<(), Failure> {
    if path.to_str().is_some() {
        return Ok(());
    }
    let shown = escaped(path.as_os_str().as_encoded_bytes());
    Err(Failure::user(format!("failed to use {what} `{shown}`: the path is not UTF-8; nothing was launched and nothing was changed"))
        .hint(MOVED))
}

/// The next step where a path is not UTF-8; a link does not help, since it is followed.
pub(crate) const MOVED: &str = "move or rename it, so that all of its path is UTF-8";

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    use super::refused;

    #[test]
    fn the_argument_that_must_be_text_is_named_among_those_that_need_not() {
        let said = |words: &[&[u8]]| refused(&words.iter().map(|word| OsString::from_vec(word.to_vec())).collect::<Vec<_>>()).message;
        let apply: [&[u8]; 7] = [b"bystander", b"patch", b"apply", b"--file", b"\xff", b"--find", b"\xfe"];
        let lang = said(&[&apply[..], &[b"--replace", b"x", b"--lang", b"p\xff"]].concat());
        assert_eq!(lang, "failed to read --lang: its value `p\\xff` is not UTF-8");
        let name = said(&[&apply[..], &[b"--replace=\xff", b"--name=\xff"]].concat());
        assert_eq!(name, "failed to read --name: its value `\\xff` is not UTF-8");
        let probe = said(&[b"bystander", b"patch", b"apply", b"x.py:1 {\xff}"]);
        assert_eq!(probe, "failed to read the argument `x.py:1 {\\xff}`: it is not UTF-8");
    }
}
