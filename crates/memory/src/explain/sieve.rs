//! Which lines may matter to any engine: a search through whole blocks, as fast as memory allows, for all texts of all engines at once.
//!
//! The texts are too many for one search by vector instructions. So every fourth place of a block is looked at alone: of each text of seven bytes and more
//! four pieces of four bytes are known, one for each way in which the text may lie on these places. Which pieces is free but for that, and those are taken
//! that servers print least while they serve. Where a piece is found, the text is compared, so what is found is exact. The few texts that are too short for
//! that are searched for as they are.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{ENGINES, spoken};
use crate::line::strip::without_orders;

/// Bytes of a piece; also how far the places lie apart that are looked at.
const PIECE: usize = 4;
/// The least bytes of a text that hold a piece at one of these places, wherever the text begins.
const WINDOW: usize = 2 * PIECE - 1;
/// Places that are looked at before it is asked whether one of them held a piece.
const GROUP: usize = 8;
/// Bits of a hash: the table of all hashes stays in the nearest cache.
const BITS: u32 = 15;
/// Hashes that are tried.
const HASHES: u32 = 256;

/// What engines print while they serve: of a text, those pieces are searched for that do not stand here, where there are others.
const SERVING: &[&str] = &[
    "[2026-11-29 13:31:46 TP0] Decode batch, #running-req: 1, #full token: 900, full token usage: 0.01, cuda graph: True, accept len: 2.50, ",
    "pre-allocated usage: 0.05, #retracted-req: 0, gen throughput (token/s): 12.34, #queue-req: 0, #pending-token: 0, #swa token: 9, swa token usage: 0.1, ",
    "[2026-11-29 13:31:46 DP0 TP0] Prefill batch, #new-seq: 1, #new-token: 9, #cached-token: 0, token usage: 0.01, input throughput (token/s): 2.21, ",
    "[2026-11-29 13:31:46] INFO:     127.0.0.1:30000 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK \"GET /health /metrics /v1/models /generate\" 400 Bad Request",
    "(APIServer pid=2112) INFO 11-29 13:00:00 [loggers.py:127] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 9.9 tokens/s, ",
    "Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 12.3%, Prefix cache hit rate: 0.0% SpecDecoding metrics: Mean acceptance length: 1.99, Accepted ",
    "Receive: obj=GenerateReqInput(rid='0', text=None, input_ids=None, sampling_params={'max_new_tokens': 999, 'temperature': 0.7}, stream=True, Finish: out={",
    "Received request cmpl-0: params: SamplingParams(n=1, presence_penalty=0.0, max_tokens=16, logprobs=None), prompt_token_ids: None, Added request chatcmpl-0.",
];

/// What people write to models, and models back: a log may hold all of it. The same counts for its pieces.
const WRITTEN: &[&str] = &[
    "You are a helpful assistant. Answer the question of the user with all that you know about it; if you are not sure, say so, and do not make up an answer.",
    "What is the best way to learn a new language? There are many ways, and which one is best for you depends on how much time you have and what you want to do.",
    "Here are some of the things that they could have said before we went there, but nobody else was able to tell us where to look or what to expect from it.",
    "Write a short story about an old man who lives by the sea, in the style of a letter to his daughter, and use no more than one hundred words for each part.",
    "The following is a conversation between two people: one of them wants to buy a house, the other one has to sell it. Please summarize it in three points.",
    "def main(args):\\n    with open(args.file) as file:\\n        for line in file:\\n            print(line.strip())\\n    return None\\n\\nif __name__ == '__main__':",
    "I get an error when I run this code on my server with cuda: can you explain how the memory of the model is used, and why there is not enough of it at the end?",
    "Given the text above, let us think step by step. First, the total number of people is 12; then a half of them should be able to read it. So the result is 6.",
    "{'role': 'user', 'content': 'hello'}, {'role': 'assistant', 'content': 'Sure! I can help you with that.'}, \"type\": \"object\", \"properties\": {\"name\": true}",
];

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
        let (mut lines, mut at, mut newlines) = (Vec::new(), 0, 0);
        for place in SIEVE.places(whole) {
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
        Self { newlines: newlines + count(&whole[at..]), lines }
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

/// A piece of a text.
struct Piece {
    bytes: [u8; PIECE],
    text: &'static str,
    /// Where in the text it stands.
    at: usize,
}

impl Sieve {
    fn new(texts: &[&'static str]) -> Self {
        let printed: Vec<[u8; PIECE]> = SERVING.iter().chain(WRITTEN).flat_map(|line| windows(line)).collect();
        let usual = printed.iter().copied().collect();
        let pieces = pieces(texts, &usual);
        let known: BTreeSet<[u8; PIECE]> = pieces.iter().map(|piece| piece.bytes).collect();
        let hash = Hash::least_confused(&known, &printed);
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

/// All that may be pieces of a text, in order.
fn windows(text: &str) -> impl Iterator<Item = [u8; PIECE]> {
    text.as_bytes().windows(PIECE).filter_map(|window| window.first_chunk().copied())
}

/// The pieces by which texts are found: four of each, one for each way in which it may lie.
fn pieces(texts: &[&'static str], usual: &BTreeSet<[u8; PIECE]>) -> Vec<Piece> {
    let mut taken = BTreeSet::new();
    let mut all = Vec::new();
    for text in texts.iter().copied().filter(|text| text.len() >= WINDOW) {
        for residue in 0..PIECE {
            let places = windows(text).enumerate().skip(residue).step_by(PIECE);
            // A piece that another text is known by as well costs nothing.
            let best = places.min_by_key(|(_, bytes)| (usual.contains(bytes), !taken.contains(bytes)));
            let Some((at, bytes)) = best else { continue };
            taken.insert(bytes);
            all.push(Piece { bytes, text, at });
        }
    }
    all
}

/// Spreads pieces over the table by a multiplication.
#[derive(Debug, Clone, Copy)]
struct Hash(u32);

impl Hash {
    fn of(self, piece: [u8; PIECE]) -> usize {
        (u32::from_le_bytes(piece).wrapping_mul(self.0) >> (u32::BITS - BITS)) as usize
    }

    /// The one, of those tried, by which the least of what servers print while they serve is taken for a piece.
    fn least_confused(pieces: &BTreeSet<[u8; PIECE]>, printed: &[[u8; PIECE]]) -> Self {
        // As often as they are printed: what comes often must not be confused at all.
        let others: Vec<[u8; PIECE]> = printed.iter().filter(|piece| !pieces.contains(*piece)).copied().collect();
        let mut known = vec![0; 1 << BITS];
        let mut confused = |hash: &Self| {
            known.fill(0);
            pieces.iter().for_each(|piece| known[hash.of(*piece)] = 1);
            others.iter().map(|other| known[hash.of(*other)]).sum::<u32>()
        };
        // Odd multiples of the golden ratio's share of 2^32, which spread what is alike.
        let tried = (0..HASHES).map(|nth| Self(0x9e37_79b1_u32.wrapping_mul(2 * nth + 1)));
        tried.min_by_key(|hash| confused(hash)).expect("some are tried")
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

    use super::{Held, SERVING, Sieved, TEXTS, WINDOW, holds_plainly, short};

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
