//! Commands that are printed to be copied: one place makes every one of them, so that each reaches the machine and the state directory that it is about.
//!
//! What a command must be given is known once a process has read what it was started with, and holds for all that it prints.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

static REACH: OnceLock<Reach> = OnceLock::new();

/// What a command must be given; each text is empty or begins with a blank, and is quoted for a shell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    /// Options of a verb that works where the edits and programs of this process are, such as ` --on ssh://gpu1`.
    pub there: String,
    /// Options of a verb that reads the record, which is where the person sits.
    pub here: String,
}

/// From now on every command is printed with these options; the first call holds.
pub fn reach(options: Reach) {
    // There is one command line that this process was started with.
    let _already = REACH.set(options);
}

/// A verb with its words that works where the edits and programs of this process are: `bystander --on ssh://gpu1 patch revert ID`.
#[must_use]
pub fn there(words: &str) -> String {
    at(REACH.get().map_or("", |reach| &reach.there), words)
}

/// A verb with its words that reads the record: `bystander show RUN --state DIR`.
#[must_use]
pub fn here(words: &str) -> String {
    format!("bystander {words}{}", REACH.get().map_or("", |reach| &reach.here))
}

/// A verb with its words that works where these options lead, such as ` --on ssh://gpu1 --ssh-config FILE`.
#[must_use]
pub fn at(options: &str, words: &str) -> String {
    format!("bystander{options} {words}")
}

/// A word as a shell takes it. Bytes that are no text, and letters that steer a terminal, stand in `$'…'`, which all common shells but fish and dash know.
#[must_use]
pub fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) if !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => {
            let mut out = String::from("$'");
            for chunk in word.as_bytes().utf8_chunks() {
                for letter in chunk.valid().chars() {
                    match letter {
                        '\'' | '\\' => out.extend(['\\', letter]),
                        '\n' => out.push_str("\\n"),
                        '\t' => out.push_str("\\t"),
                        letter if letter.is_ascii_control() => out.push_str(&format!("\\{:03o}", u32::from(letter))),
                        letter if letter.is_control() => out.extend(letter.to_string().bytes().map(|byte| format!("\\{byte:03o}"))),
                        letter => out.push(letter),
                    }
                }
                out.extend(chunk.invalid().iter().map(|byte| format!("\\{byte:03o}")));
            }
            out + "'"
        }
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/._-+:@,".contains(letter)
}

/// Bytes as text to be read: those that are no UTF-8 as `\xff`.
#[must_use]
pub fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::{at, escaped, quoted};

    #[test]
    fn a_shell_reads_every_word_as_it_was() {
        let words: [&[u8]; 9] =
            [b"plain/a.b-c", b"", b"a b", b"it's $HOME `x`", b"a\nb", b"\xff'\\\x1b[31m7", "é".as_bytes(), b"~/x", b"\xc2\x9b1"];
        for word in words {
            let text = format!("printf %s {}", quoted(OsStr::from_bytes(word)));
            let Ok(ran) = std::process::Command::new("bash").env("LC_ALL", "C").args(["-c", &text]).output() else { return };
            assert_eq!(ran.stdout, word, "{text}");
            assert!(!quoted(OsStr::from_bytes(word)).chars().any(char::is_control), "{text:?}");
        }
    }

    #[test]
    fn options_come_before_the_verb_and_bytes_are_shown() {
        assert_eq!(at(" --on ssh://a", "patch status"), "bystander --on ssh://a patch status");
        assert_eq!(at("", "doctor"), "bystander doctor");
        assert_eq!(escaped(b"a \xff\xc3\xa9"), "a \\xffé");
    }
}
