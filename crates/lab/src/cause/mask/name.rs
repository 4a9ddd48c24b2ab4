//! Names of files and addresses of servers: what stands last tells what it is, and where it lies differs between launches.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern;

/// Names that Python, its processes and shells make up for temporary files and shared memory.
static GENERATED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\btmp[a-z0-9_]{8}\b|\btmp\.[A-Za-z0-9]{6,12}\b|\bpsm_[0-9a-f]{8}\b|\b(?:pymp|mp)-[a-z0-9_]{8}\b"));
/// A number of four digits or more that hangs on a word, such as the process in `core12345`.
static HANGING: LazyLock<Regex> = LazyLock::new(|| pattern(r"([A-Za-z])\d{4,}"));
/// The shortest part of a temporary file's name that may have been made up, in bytes.
const SHORTEST: usize = 6;
/// Folders of what lives no longer than a launch.
const TEMPORARY: [&str; 4] = ["/tmp/", "/var/tmp/", "/dev/shm/", "/run/"];

/// Masks names that were made up.
pub(super) fn generated(text: &str) -> String {
    GENERATED.replace_all(text, "<temp>").into_owned()
}

/// The masked form of a path: its last part, without what was made up.
pub(super) fn path(path: &str) -> String {
    let (path, rest) = without_stop(path);
    let Some(last) = last_part(path) else { return "<path>".to_owned() };
    let is_temporary = TEMPORARY.iter().any(|folder| path.starts_with(folder));
    let last = if is_temporary { without_random(last) } else { last.to_owned() };
    format!("<path>/{}{rest}", HANGING.replace_all(&last, "$1#"))
}

/// The masked form of an address, of which the scheme is told apart: its last part, without host, port and query.
pub(super) fn url(scheme: &str, address: &str) -> String {
    let (address, rest) = without_stop(address);
    let address = address.split(['?', '#']).next().unwrap_or(address);
    match address.split_once('/').and_then(|(_, path)| last_part(path)) {
        Some(last) => format!("<{scheme}>/{}{rest}", HANGING.replace_all(last, "$1#")),
        None => format!("<{scheme}>{rest}"),
    }
}

/// What ends a sentence is no part of a name.
fn without_stop(text: &str) -> (&str, &str) {
    text.split_at(text.trim_end_matches(['.', ',', ':', ';']).len())
}

fn last_part(path: &str) -> Option<&str> {
    path.rsplit('/').find(|part| !part.is_empty() && !part.chars().all(|c| c == '.'))
}

/// A temporary file's name without the parts that look made up.
fn without_random(name: &str) -> String {
    let parts = name.split_inclusive(['.', '-']).map(|part| {
        let word = part.trim_end_matches(['.', '-']);
        if is_random(word) { format!("<temp>{}", &part[word.len()..]) } else { part.to_owned() }
    });
    parts.collect()
}

/// Whether letters and digits, or small and large letters, alternate as they do in no name that somebody thought of.
fn is_random(word: &str) -> bool {
    let turns = |is_turn: fn(u8, u8) -> bool| word.as_bytes().windows(2).filter(|pair| is_turn(pair[0], pair[1])).count();
    let digits = turns(|a, b| a.is_ascii_digit() != b.is_ascii_digit());
    let cases = turns(|a, b| a.is_ascii_lowercase() && b.is_ascii_uppercase());
    word.len() >= SHORTEST && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && (digits >= 3 || cases >= 3)
}
