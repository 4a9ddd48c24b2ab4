//! Which pieces of the texts are searched for, and the hash that finds them: those that servers and prompts are least full of.

use std::collections::BTreeSet;

/// Bytes of a piece; also how far the places lie apart that are looked at.
pub(super) const PIECE: usize = 4;
/// The least bytes of a text that hold a piece at one of these places, wherever the text begins.
pub(super) const WINDOW: usize = 2 * PIECE - 1;
/// Bits of a hash: the table of all hashes stays in the nearest cache.
pub(super) const BITS: u32 = 15;
/// Hashes that are tried.
const HASHES: u32 = 256;

/// What engines print while they serve: of a text, those pieces are searched for that do not stand here, where there are others.
pub(super) const SERVING: &[&str] = &[
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

/// A piece of a text.
pub(super) struct Piece {
    pub(super) bytes: [u8; PIECE],
    pub(super) text: &'static str,
    /// Where in the text it stands.
    pub(super) at: usize,
}

/// The pieces of some texts, and the hash by which they are found.
pub(super) fn choose(texts: &[&'static str]) -> (Vec<Piece>, Hash) {
    let printed: Vec<[u8; PIECE]> = SERVING.iter().chain(WRITTEN).flat_map(|line| windows(line)).collect();
    let usual = printed.iter().copied().collect();
    let pieces = pieces_of(texts, &usual);
    let known = pieces.iter().map(|piece| piece.bytes).collect();
    (pieces, Hash::least_confused(&known, &printed))
}

/// All that may be pieces of a text, in order.
fn windows(text: &str) -> impl Iterator<Item = [u8; PIECE]> {
    text.as_bytes().windows(PIECE).filter_map(|window| window.first_chunk().copied())
}

/// The pieces by which texts are found: four of each, one for each way in which it may lie.
fn pieces_of(texts: &[&'static str], usual: &BTreeSet<[u8; PIECE]>) -> Vec<Piece> {
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
pub(super) struct Hash(u32);

impl Hash {
    pub(super) fn of(self, piece: [u8; PIECE]) -> usize {
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
