//! Which line came nearest to a pattern that nothing matched: advice for a pattern that was mistyped, and never a sign of anything.

use bystander_model::evidence::Stream;
use bystander_model::reading::LogBlock;

use crate::metrics::border;

/// Words of a pattern that are looked for, and the shortest.
const WORDS: usize = 8;
const SHORTEST: usize = 3;
/// Lines of one block that are looked at, and lines in all: a wrong pattern must not cost what a right one does not.
const LINES_OF_BLOCK: usize = 200;
const LINES: u64 = 20_000;
/// As much of the line is shown, in bytes.
const SHOWN_BYTES: usize = 160;

/// The line that has most of the words of a pattern.
#[derive(Debug)]
pub(super) struct Near {
    words: Vec<String>,
    looked_at: u64,
    best: Option<(usize, String)>,
}

impl Near {
    pub(super) fn of(pattern: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        for word in words_of(pattern) {
            let lower = word.to_ascii_lowercase();
            if words.len() < WORDS && !words.contains(&lower) {
                words.push(lower);
            }
        }
        Self { words, looked_at: 0, best: None }
    }

    /// Takes a line.
    pub(super) fn line(&mut self, stream: Stream, number: u64, text: &str) {
        if self.looked_at >= LINES || self.words.is_empty() {
            return;
        }
        self.looked_at += 1;
        let lower = text[..border(text, 4 * SHOWN_BYTES)].to_ascii_lowercase();
        let score = self.words.iter().filter(|word| lower.contains(word.as_str())).count();
        // A word alone is in many lines; half of them are not there by chance.
        let enough = score * 2 >= self.words.len().max(2);
        if enough && self.best.as_ref().is_none_or(|(best, _)| score > *best) {
            let shown = text[..border(text, SHOWN_BYTES)].trim();
            self.best = Some((score, format!("{}:{number} comes near ({shown})", stream.name())));
        }
    }

    /// Takes the last lines of a block.
    pub(super) fn block(&mut self, block: &LogBlock<'_>) {
        if self.looked_at < LINES && !self.words.is_empty() {
            block.last(LINES_OF_BLOCK).for_each(|line| self.line(block.stream, line.number, line.text));
        }
    }

    /// The nearest line, in words.
    pub(super) fn told(&self) -> Option<&str> {
        self.best.as_ref().map(|(_, text)| text.as_str())
    }
}

/// The literal words of a pattern: what stands between its signs, classes such as `\\d` left out.
fn words_of(pattern: &str) -> Vec<String> {
    let (mut words, mut word, mut chars) = (Vec::new(), String::new(), pattern.chars());
    while let Some(c) = chars.next() {
        if c == '\\' {
            // An escaped sign is a border, as is a class.
            chars.next();
            words.push(std::mem::take(&mut word));
        } else if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            words.push(std::mem::take(&mut word));
        }
    }
    words.push(word);
    words.retain(|word| word.chars().count() >= SHORTEST);
    words
}

#[cfg(test)]
mod tests {
    use bystander_model::evidence::Stream;

    use super::Near;

    fn told(pattern: &str, lines: &[&str]) -> Option<String> {
        let mut near = Near::of(pattern);
        (1..).zip(lines).for_each(|(number, line)| near.line(Stream::Stdout, number, line));
        near.told().map(str::to_owned)
    }

    #[test]
    fn the_line_with_most_words_of_the_pattern_is_the_nearest() {
        let lines = ["loading", "all reduce: custom all_reduce is disabled", "disabled: nothing"];
        let found = told(r"custom all_reduce is (disabled|off)$ \d+", &lines);
        assert_eq!(found.as_deref(), Some("stdout:2 comes near (all reduce: custom all_reduce is disabled)"));
        assert_eq!(told("Mode B Is On", &["mode: b is on"]).as_deref(), Some("stdout:1 comes near (mode: b is on)"));
    }

    #[test]
    fn what_has_nothing_of_it_is_not_near() {
        assert_eq!(told("custom all_reduce disabled", &["loading weights", "ready, disabled"]), None);
        assert_eq!(told(r"\d+", &["1 2 3"]), None, "a pattern without a word");
    }
}
