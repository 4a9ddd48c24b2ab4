//! Which lines may matter to any engine: a search through whole blocks, as fast as memory allows, for all texts of all engines at once.
//!
//! The texts are too many for one search by vector instructions. So every fourth place of a block is looked at alone: of each text of seven bytes and more
//! four pieces of four bytes are known, one for each way in which the text may lie on these places. Which pieces is free but for that, and those are taken
//! that servers print least while they serve. Where a piece is found, the text is compared, so what is found is exact. The few texts that are too short for
//! that are searched for as they are.

mod pieces;

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{ENGINES, spoken};
use crate::line::strip::without_orders;
use pieces::{BITS, Hash, PIECE, Piece, WINDOW, choose};

/// Places that are looked at before it is asked whether one of them held a piece.
const GROUP: usize = 8;
/// Bytes that a line has on average where no prompts are logged, at most.
const USUAL: u64 = 256;
/// Bytes of a line from which on it is worth a look at its beginning whether it is a request.
const LONG: usize = 512;

/// Every text of every engine, those that hold another one left out: they would find the same lines twice.
static TEXTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut texts: Vec<&str> = ENGINES.iter().flat_map(|engine| (engine.texts)()).chain(spoken::TEXTS.iter().copied()).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.iter().copied().filter(|text| !texts.iter().any(|other| other != text && text.contains(other))).collect()
});

static SIEVE: LazyLock<Sieve> = LazyLock::new(|| Sieve::new(&TEXTS));

/// The lines of a block that hold a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sieved {
    /// Line ends in the block.
    pub(super) newlines: u64,
    /// Those of its whole lines that hold a text, in order.
    pub(super) lines: Vec<Held>,
}

/// A line that holds a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    /// Where it begins, and ends behind its line end.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Line ends in the block before it.
    pub(super) before: u64,
}

impl Sieved {
    /// Looks through a block, which may begin and end within lines; what stands behind its last line end is passed over.
    ///
    /// A text counts as held where orders to a terminal, such as colours, stand within it.
    #[must_use]
    pub fn of(block: &[u8]) -> Self {
        let whole = &block[..memchr::memrchr(b'\n', block).map_or(0, |end| end + 1)];
        without_orders(whole).map_or_else(|| Self::of_plain(whole), |plain| Self::of_plain(&plain).placed_in(whole))
    }

    fn of_plain(whole: &[u8]) -> Self {
        let all = count(whole);
        let (mut lines, mut at, mut newlines) = (Vec::new(), 0, 0);
        let places = if whole.len() as u64 > all * USUAL { between_requests(whole) } else { SIEVE.places(whole) };
        for place in places {
            // The line was found by another text.
            if place < at {
                continue;
            }
            let start = memchr::memrchr(b'\n', &whole[at..place]).map_or(at, |end| at + end + 1);
            newlines += count(&whole[at..start]);
            at = line_end(whole, place);
            lines.push(Held { start, end: at, before: newlines });
            newlines += 1;
        }
        Self { newlines: all, lines }
    }

    /// The same lines where they lie in a text that has as many.
    fn placed_in(mut self, whole: &[u8]) -> Self {
        let mut ends = memchr::memchr_iter(b'\n', whole).map(|end| end + 1);
        let mut next = || ends.next().unwrap_or(whole.len());
        let (mut start, mut nth) = (0, 0);
        for held in &mut self.lines {
            while nth < held.before {
                (start, nth) = (next(), nth + 1);
            }
            (held.start, held.end) = (start, next());
            (start, nth) = (held.end, nth + 1);
        }
        self
    }
}

/// As [`Sieve::places`], without long lines that are requests: those are most of a log in which each stands with its prompt, and nobody's word.
fn between_requests(whole: &[u8]) -> Vec<usize> {
    let (mut places, mut from, mut at) = (Vec::new(), 0, 0);
    let mut look = |from: usize, to: usize| places.extend(SIEVE.places(&whole[from..to]).into_iter().map(|place| from + place));
    for end in memchr::memchr_iter(b'\n', whole) {
        if end - at > LONG && is_of_a_request(&whole[at..at + LONG]) {
            look(from, at);
            from = end + 1;
        }
        at = end + 1;
    }
    look(from, whole.len());
    places
}

fn count(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Where the line of a place ends, its line end included.
fn line_end(text: &[u8], place: usize) -> usize {
    memchr::memchr(b'\n', &text[place..]).map_or(text.len(), |end| place + end + 1)
}

/// Whether a line is a request or its answer, logged with all that somebody has written: nobody's word on this server, whatever stands in it.
pub(super) fn is_of_a_request(line: &[u8]) -> bool {
    static CONTENT: LazyLock<Regex> =
        LazyLock::new(|| any_of(&["ReqInput(", "SamplingParams(", "Received request ", "Generated response "]));
    CONTENT.is_match(line)
}

/// Texts, ready to be searched for.
struct Sieve {
    hash: Hash,
    /// What is behind each hash of a piece: nothing for 0, else a bucket.
    table: Box<[u8; 1 << BITS]>,
    buckets: Vec<Vec<Piece>>,
    /// The texts that are too short.
    short: Regex,
}

impl Sieve {
    fn new(texts: &[&'static str]) -> Self {
        let (pieces, hash) = choose(texts);
        let mut sieve =
            Self { hash, table: Box::new([0; 1 << BITS]), buckets: (0..256).map(|_| Vec::new()).collect(), short: any_of(&short(texts)) };
        pieces.into_iter().for_each(|piece| sieve.add(piece));
        sieve
    }

    fn add(&mut self, piece: Piece) {
        let at = self.hash.of(piece.bytes);
        let slot = &mut self.table[at];
        if *slot == 0 {
            *slot = u8::try_from(at % 255 + 1).unwrap_or(u8::MAX);
        }
        self.buckets[usize::from(*slot)].push(piece);
    }

    /// A place in each line that holds a text, in order; of one line there may be several.
    fn places(&self, block: &[u8]) -> Vec<usize> {
        let mut places = Vec::new();
        self.long(block, &mut places);
        let long = places.len();
        let mut from = 0;
        while let Some(found) = self.short.shortest_match_at(block, from) {
            places.push(found - 1);
            from = line_end(block, found - 1);
        }
        if long > 0 && long < places.len() {
            places.sort_unstable();
        }
        places
    }

    fn long(&self, block: &[u8], places: &mut Vec<usize>) {
        let (pieces, _) = block.as_chunks::<PIECE>();
        let (groups, rest) = pieces.as_chunks::<GROUP>();
        let mut passed = 0;
        for (nth, group) in groups.iter().enumerate() {
            let found = group.iter().fold(0, |found, piece| found | self.table[self.hash.of(*piece)]);
            if found != 0 {
                self.compare(block, nth * GROUP, group, &mut passed, places);
            }
        }
        self.compare(block, groups.len() * GROUP, rest, &mut passed, places);
    }

    /// Compares the texts whose pieces are among these, the first of which is the piece `first` of the block; `passed` is where the line ends that was
    /// found last.
    #[cold]
    fn compare(&self, block: &[u8], first: usize, pieces: &[[u8; PIECE]], passed: &mut usize, places: &mut Vec<usize>) {
        for (nth, bytes) in pieces.iter().enumerate() {
            let place = (first + nth) * PIECE;
            let slot = self.table[self.hash.of(*bytes)];
            if slot == 0 || place < *passed {
                continue;
            }
            let stands = |piece: &&Piece| {
                let begins = place.checked_sub(piece.at);
                piece.bytes == *bytes && begins.is_some_and(|begins| block[begins..].starts_with(piece.text.as_bytes()))
            };
            if self.buckets[usize::from(slot)].iter().any(|piece| stands(&piece)) {
                places.push(place);
                *passed = line_end(block, place);
            }
        }
    }
}

fn short(texts: &[&'static str]) -> Vec<&'static str> {
    texts.iter().copied().filter(|text| text.len() < WINDOW).collect()
}

fn any_of(texts: &[&str]) -> Regex {
    let pattern = texts.iter().map(|text| regex::escape(text)).collect::<Vec<_>>().join("|");
    Regex::new(&format!("(?-u:{pattern})")).expect("escaped literals")
}

/// Whether a line holds a text, looked for one by one.
#[cfg(test)]
pub(super) fn holds_plainly(line: &[u8]) -> bool {
    TEXTS.iter().any(|text| memchr::memmem::find(line, text.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::pieces::{SERVING, WINDOW};
    use super::{Held, LONG, Sieved, TEXTS, holds_plainly, short};

    /// The lines that hold a text, looked for one by one.
    fn plainly(block: &[u8]) -> Sieved {
        let (mut at, mut newlines, mut lines) = (0, 0, Vec::new());
        for line in block.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            if holds_plainly(line) {
                lines.push(Held { start: at, end: at + line.len(), before: newlines });
            }
            at += line.len();
            newlines += 1;
        }
        Sieved { newlines, lines }
    }

    #[test]
    fn no_text_is_passed_over_wherever_it_lies() {
        for text in TEXTS.iter() {
            for shift in 0..80 {
                let block = format!("nothing\n{}{text}\nnothing\n", ".".repeat(shift));
                let held = Held { start: 8, end: 8 + shift + text.len() + 1, before: 1 };
                assert_eq!(Sieved::of(block.as_bytes()), Sieved { newlines: 3, lines: vec![held] }, "{text} at {shift}");
            }
        }
        assert!(TEXTS.len() > 80 && TEXTS.len() < 160, "{}", TEXTS.len());
        assert!(short(&TEXTS).len() <= 16, "short texts cost a search of their own, which is fast for few: {:?}", short(&TEXTS));
        assert!(short(&TEXTS).iter().all(|text| text.len() < WINDOW));
    }

    #[test]
    fn lines_of_a_server_that_serves_are_passed_over() {
        for line in SERVING {
            assert_eq!(Sieved::of(format!("{line}\n").as_bytes()), Sieved { newlines: 1, lines: Vec::new() }, "{line}");
        }
    }

    #[test]
    fn long_requests_are_passed_over_and_their_neighbours_are_not() {
        let prompt = |length: usize| "KV cache allocated, avail mem=7 GiB ".repeat(length / 36 + 1);
        let received = |length| format!("[2026-11-29 13:31:46] Receive: obj=GenerateReqInput(rid='0', text='{}')\n", prompt(length));
        let (text, plain) = ("[TP0] KV cache allocated\n", format!("{}\n", prompt(900)));
        for lines in [
            vec![received(9000), text.to_owned(), received(600)],
            vec![
                text.to_owned(),
                received(9000),
                plain.clone(),
                received(40),
                text.to_owned(),
                "\n".to_owned(),
                plain,
                received(9000),
                text.to_owned(),
            ],
        ] {
            let block = format!("{}cut", lines.concat());
            let mut wanted = plainly(block.as_bytes());
            let is_passed = |held: &Held| held.end - held.start > LONG && super::is_of_a_request(&block.as_bytes()[held.start..held.end]);
            assert!(wanted.lines.iter().any(is_passed));
            wanted.lines.retain(|held| !is_passed(held));
            assert_eq!(Sieved::of(block.as_bytes()), wanted);
        }
    }

    #[test]
    fn a_text_across_the_end_of_a_line_or_of_the_block_is_none() {
        for block in ["avail mem\n=", "avail mem=", "", "\n", "GiB", "x\nGiB"] {
            assert_eq!(Sieved::of(block.as_bytes()).lines, [], "{block:?}");
        }
        assert_eq!(Sieved::of(b"GiB GiB avail mem= GiB\nGiB\nx\n\nWSL\nWS").lines.len(), 3);
    }

    #[test]
    fn a_colour_within_a_text_hides_nothing() {
        for text in TEXTS.iter().filter(|text| text.is_char_boundary(2)) {
            for colour in ["\x1b[31m", "\x1b[0m\x1b[1;32m", "\x1b]0;title\x07", "\x1b(B\x1b[m", "\x1b[38;5;9m"] {
                let line = format!("{}{colour}{}", &text[..2], &text[2..]);
                let held = Held { start: 8, end: 8 + line.len() + 1, before: 1 };
                let block = format!("nothing\n{line}\n\x1b[1mnothing\n\x1b[\n");
                assert_eq!(Sieved::of(block.as_bytes()), Sieved { newlines: 4, lines: vec![held] }, "{line:?}");
            }
        }
        let written = "{\"log\":\"nothing\"}\n{\"log\":\"avail \\u001b[31mmem=1.00 GB\\n\"}\n";
        assert_eq!(Sieved::of(written.as_bytes()).lines, [Held { start: 18, end: written.len(), before: 1 }]);
    }

    proptest! {
        #[test]
        fn colours_anywhere_change_no_line(
            parts in proptest::collection::vec((0..200_usize, "[a-z \n]{0,9}", 0..4_usize), 0..40),
            colours in proptest::collection::vec((0..4000_usize, "(\x1b\\[[0-9;]{0,3}m|\x1b\\[|\x1b)"), 1..30)
        ) {
            let plain: String = parts.iter().map(|(text, between, end)| {
                format!("{}{between}{}", TEXTS[text % TEXTS.len()], if *end == 0 { "\n" } else { "" })
            }).collect();
            let mut coloured = plain.clone();
            for (at, colour) in &colours {
                let at = (0..=at % (coloured.len() + 1)).rev().find(|at| coloured.is_char_boundary(*at)).unwrap_or(0);
                // Within another order it would be a part of that one.
                if coloured[..at].rfind('\x1b').is_none_or(|last| at - last > 8) && colour.ends_with('m') {
                    coloured.insert_str(at, colour);
                }
            }
            let (found, expected) = (Sieved::of(coloured.as_bytes()), Sieved::of(plain.as_bytes()));
            prop_assert_eq!(found.newlines, expected.newlines);
            let numbers = |sieved: &Sieved| sieved.lines.iter().map(|held| held.before).collect::<Vec<_>>();
            prop_assert_eq!(numbers(&found), numbers(&expected));
            for held in &found.lines {
                prop_assert!(held.start == 0 || coloured.as_bytes()[held.start - 1] == b'\n');
                prop_assert_eq!(coloured.as_bytes()[held.end - 1], b'\n');
            }
        }

        #[test]
        fn the_same_lines_are_found_as_one_by_one(
            parts in proptest::collection::vec((0..200_usize, 0..12_usize, "[a-z \n#=.()]{0,9}", 0..40_usize), 0..60)
        ) {
            let mut block = String::new();
            for (text, cut, between, end) in parts {
                let text = TEXTS[text % TEXTS.len()];
                let from = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= cut / 4).last().unwrap_or(0);
                block.push_str(&text[from..]);
                block.push_str(&between);
                if end < 10 {
                    block.push('\n');
                }
            }
            prop_assert_eq!(Sieved::of(block.as_bytes()), plainly(block.as_bytes()));
        }
    }
}
