//! What was typed, as it is sent: without what concerns the way there, and with the files whose text is meant.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use bystander_host::remote::frame::MOST_BODY;
use bystander_host::remote::message::Word;

use crate::commands::patch::text_of;
use crate::failure::Failure;

/// Options of the way there, with a value.
const OF_THE_WAY: [&str; 4] = ["--on", "--ssh-config", "--lease", "--state"];
/// One without.
const FLAG_OF_THE_WAY: &str = "--no-upload";
/// Options that name a file for its text.
const TEXTS: [&str; 4] = ["--find-file", "--replace-file", "--insert-after-file", "--insert-before-file"];
/// Options whose value may look like an option.
const ANYTHING: [&str; 3] = ["--replace", "--insert-after", "--insert-before"];

/// The words to send, and the bytes of their files; the state directory there is named at the end of the options.
pub(super) fn typed(words: impl IntoIterator<Item = OsString>, state: &Path) -> Result<(Vec<Word>, Vec<u8>), Failure> {
    let mut words = words.into_iter();
    let (mut sent, mut body) = (vec![Word::of("--state"), Word::of(state)], Vec::new());
    while let Some(word) = words.next() {
        if word == "--" {
            sent.push(Word::of(word));
            sent.extend(words.by_ref().map(Word::of));
            break;
        }
        if word == FLAG_OF_THE_WAY {
            continue;
        }
        let (option, value) = split(&word);
        if OF_THE_WAY.iter().any(|of_the_way| option == *of_the_way) {
            if value.is_none() {
                words.next();
            }
        } else if TEXTS.iter().any(|text| option == *text) {
            let option = option.to_owned();
            let file = value.map(OsStr::to_owned).or_else(|| words.next());
            sent.push(Word::of(option));
            sent.extend(file.map(|file| text(Path::new(&file), &mut body)).transpose()?);
        } else if ANYTHING.iter().any(|anything| word == *anything) {
            sent.push(Word::of(word));
            sent.extend(words.next().map(Word::of));
        } else {
            sent.push(Word::of(word));
        }
    }
    if body.len() > MOST_BODY {
        let most = MOST_BODY >> 20;
        return Err(Failure::user(format!(
            "failed to send the files of texts: they have {} bytes, and at most {most} MiB are sent",
            body.len()
        ))
        .hint(
            "copy them to that machine and run `bystander` there without --on, or take shorter texts: --find needs only what is unique",
        ));
    }
    Ok((sent, body))
}

/// The words without an option that has no value, and whether it was among them; words after `--` are none of ours.
pub(super) fn without(words: Vec<Word>, option: &str) -> (Vec<Word>, bool) {
    let own = words.iter().position(|word| *word == Word::of("--")).unwrap_or(words.len());
    let count = words.len();
    let rest: Vec<Word> =
        words.into_iter().enumerate().filter(|(at, word)| *at >= own || *word != Word::of(option)).map(|(_, word)| word).collect();
    let was_there = rest.len() < count;
    (rest, was_there)
}

/// A file whose text is meant: one that would be refused there is refused here, by its own name.
fn text(file: &Path, body: &mut Vec<u8>) -> Result<Word, Failure> {
    let text = text_of(file).map_err(|failure| failure.hint("files for their text are read here, all other paths there"))?;
    Ok(along(file, &text, body))
}

/// A file that is sent along, with what was read from it.
pub(super) fn along(file: &Path, bytes: &[u8], body: &mut Vec<u8>) -> Word {
    body.extend(bytes);
    Word::File { length: bytes.len(), name: file.file_name().unwrap_or_default().to_owned().into_vec() }
}

/// An option and the value that follows it in the same word.
fn split(word: &OsStr) -> (&OsStr, Option<&OsStr>) {
    let bytes = word.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=').filter(|_| bytes.starts_with(b"--")) {
        Some(at) => (OsStr::from_bytes(&bytes[..at]), Some(OsStr::from_bytes(&bytes[at + 1..]))),
        None => (word, None),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::Path;

    use bystander_host::remote::message::Word;

    use super::{typed, without};

    fn sent(words: &[&str]) -> Vec<String> {
        let (sent, _) = typed(words.iter().map(OsString::from), Path::new("/far")).expect("sent");
        let text = |word| match word {
            Word::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Word::File { length, .. } => format!("<{length} bytes>"),
        };
        sent.into_iter().map(text).collect()
    }

    #[test]
    fn what_concerns_the_way_stays_here() {
        let words = [
            "--on",
            "ssh://a",
            "watch",
            "--lease=2h",
            "--no-upload",
            "-p",
            "m:f {x}",
            "--ssh-config",
            "c",
            "--state",
            "s",
            "--",
            "x",
            "--on",
            "y",
        ];
        assert_eq!(sent(&words), ["--state", "/far", "watch", "-p", "m:f {x}", "--", "x", "--on", "y"]);
    }

    #[test]
    fn an_option_of_the_near_end_is_taken_out_and_a_word_of_the_program_is_not() {
        let words = |words: &[&str]| words.iter().map(Word::of).collect::<Vec<_>>();
        let (rest, was_there) = without(words(&["watch", "--new", "--", "x", "--new"]), "--new");
        assert_eq!((rest, was_there), (words(&["watch", "--", "x", "--new"]), true));
        assert!(!without(words(&["watch", "--", "--new"]), "--new").1);
    }

    #[test]
    fn a_text_that_looks_like_an_option_is_a_text() {
        let words = ["patch", "apply", "--file", "a b", "--find", "x", "--replace", "--on", "--on=ssh://a"];
        assert_eq!(sent(&words), ["--state", "/far", "patch", "apply", "--file", "a b", "--find", "x", "--replace", "--on"]);
    }

    #[test]
    fn files_for_their_text_go_along_as_bytes_and_words_as_they_are() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), b"\xff$\n'\"").expect("written");
        let odd = OsString::from_vec(b"a \xfe$'\n".to_vec());
        let mut words = vec![OsString::from("patch"), odd.clone(), OsString::from("--find-file"), file.path().into()];
        let joined = [b"--replace-file=".as_slice(), file.path().as_os_str().as_encoded_bytes()].concat();
        words.push(OsString::from_vec(joined));
        let (sent, body) = typed(words, Path::new("/far")).expect("sent");
        assert_eq!(body, b"\xff$\n'\"\xff$\n'\"");
        assert_eq!(sent[3], Word::of(odd));
        assert!(matches!((&sent[5], &sent[7]), (Word::File { length: 5, .. }, Word::File { length: 5, .. })), "{sent:?}");
        let refused = |path: &Path| typed([OsString::from("--find-file"), path.into()], Path::new("/far")).expect_err("refused").message;
        assert!(refused(Path::new("/none")).contains("/none"));
    }
}
