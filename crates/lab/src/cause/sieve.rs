//! Which lines of a log are worth a look, told by one search through many of them for fixed words.
//!
//! A search for some dozens of fixed words is several times faster than one that knows no case, as long as none of them is shorter than four bytes and
//! there are no more than sixty-four: then they are looked for sixteen bytes at a time.

use std::sync::LazyLock;

use regex::Regex;

/// Every line that a pattern of the scanner can match holds one of these, in small letters (without the first, which may be large) or in capitals.
const IN_ANY_CASE: [&str; 20] = [
    "rror",
    "xception",
    "atal",
    "anic",
    "egmentation",
    "erminate called",
    "what(): ",
    "ssertion",
    "ommand not found",
    "o such file",
    "ermission denied",
    "annot open shared",
    "ut of memory",
    "ore dumped",
    "ritical",
    "in use",
    "addrinuse",
    "port is ",
    "is not available",
    "rrno 98",
];
/// The same, in one spelling only.
const AS_THEY_STAND: [&str; 17] = [
    "Traceback (most",
    "File \"",
    "Process ",
    "slurmstepd",
    "OOMKilled",
    "OOM Killed",
    "reason: Evicted",
    "most recent call first",
    "free(): ",
    "alloc(): ",
    "_chunk(): ",
    "consolidate(): ",
    "align(): ",
    "double free",
    "smashing",
    "corrupted ",
    "terminating ",
];
/// What every line of statistics holds.
const STATISTICS: [&str; 2] = ["Running: ", "running-req: "];
/// What every line of statistics holds that could begin a row without progress.
const IDLE: [&str; 2] = ["Running: 0", "running-req: 0"];

/// What a single line must hold to be looked at.
pub(super) static TELLS: LazyLock<Regex> = LazyLock::new(|| any_of(STATISTICS));
/// The same while nothing says that the engine stands still: statistics of an engine that works are passed over.
static USUAL: LazyLock<Regex> = LazyLock::new(|| any_of(IDLE));

/// How closely lines are looked at, which what was read so far decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Every line matters: a traceback is open.
    EveryLine,
    /// Words and statistics matter: the engine may stand still.
    Statistics,
    /// Words matter.
    Usual,
}

impl Care {
    /// The place of the next line that may matter, at or after a byte that begins a line. The text holds no colours.
    pub(super) fn find(self, text: &str, from: usize) -> Option<usize> {
        match self {
            Self::EveryLine => Some(from),
            Self::Statistics => TELLS.shortest_match_at(text, from),
            Self::Usual => USUAL.shortest_match_at(text, from),
        }
    }
}

fn any_of(statistics: [&str; 2]) -> Regex {
    let both = IN_ANY_CASE.iter().flat_map(|word| [(*word).to_owned(), word.to_uppercase()]);
    let words = both.chain(AS_THEY_STAND.iter().chain(&statistics).map(|word| (*word).to_owned()));
    let words: Vec<String> = words.map(|word| regex::escape(&word)).collect();
    Regex::new(&words.join("|")).expect("escaped words")
}

#[cfg(test)]
mod tests {
    use super::{AS_THEY_STAND, IDLE, IN_ANY_CASE, STATISTICS};

    #[test]
    fn the_words_are_few_and_long_enough_for_the_fast_search() {
        let words = || IN_ANY_CASE.iter().chain(&AS_THEY_STAND).chain(&STATISTICS);
        assert!(words().all(|word| word.len() >= 4) && words().count() + IN_ANY_CASE.len() <= 64);
        assert!(IDLE.iter().zip(STATISTICS).all(|(idle, any)| idle.starts_with(any)));
    }
}
