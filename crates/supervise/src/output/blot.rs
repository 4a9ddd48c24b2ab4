//! Known secrets become stars of the same length before a byte of them reaches a file.
//!
//! What may be the beginning of a secret is held back until it is known to be one or not, so a program that stops in the middle of a line
//! may have its last bytes told late.

use std::ops::Range;

use memchr::memmem::Finder;

/// Looks for secrets in a stream.
#[derive(Debug, Default)]
pub(crate) struct Blotter {
    secrets: Vec<Finder<'static>>,
    held: Vec<u8>,
}

impl Blotter {
    /// Makes one for these secrets; empty ones are none.
    pub(crate) fn new(secrets: &[Vec<u8>]) -> Self {
        let secrets = secrets.iter().filter(|secret| !secret.is_empty());
        Self { secrets: secrets.map(|secret| Finder::new(secret).into_owned()).collect(), held: Vec::new() }
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_idle(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Takes the next bytes of the stream; gives those that may be written.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let cut = all.len() - self.begun(&all);
        self.star(&mut all, cut);
        self.held = all.split_off(cut);
        all
    }

    /// What was held back, at the end of the stream.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        let end = all.len();
        self.star(&mut all, end);
        all
    }

    /// Replaces the secrets that begin before `cut`.
    fn star(&self, bytes: &mut [u8], cut: usize) {
        let found: Vec<Range<usize>> = self
            .secrets
            .iter()
            .flat_map(|secret| secret.find_iter(bytes).map(|at| at..at + secret.needle().len()).collect::<Vec<_>>())
            .filter(|range| range.start < cut)
            .collect();
        for range in found {
            bytes[range].fill(b'*');
        }
    }

    /// The length of the longest end of `bytes` that is the beginning of a secret.
    fn begun(&self, bytes: &[u8]) -> usize {
        let of = |secret: &[u8]| (1..secret.len().min(bytes.len() + 1)).rev().find(|&length| bytes.ends_with(&secret[..length]));
        self.secrets.iter().filter_map(|secret| of(secret.needle())).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::Blotter;

    fn blotted(secrets: &[&str], chunks: &[&str]) -> String {
        let mut blotter = Blotter::new(&secrets.iter().map(|secret| secret.as_bytes().to_vec()).collect::<Vec<_>>());
        let mut out: Vec<u8> = chunks.iter().flat_map(|chunk| blotter.pass(chunk.as_bytes())).collect();
        out.extend(blotter.rest());
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_secret_is_found_wherever_the_stream_is_cut() {
        let text = "key=hunter22;hunter2 and hunhunter22\n";
        for cut in 0..text.len() {
            let (head, tail) = text.split_at(cut);
            assert_eq!(blotted(&["hunter22"], &[head, tail]), "key=********;hunter2 and hun********\n", "cut at {cut}");
        }
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        assert_eq!(blotted(&["hunter22"], &bytes), "key=********;hunter2 and hun********\n");
    }

    #[test]
    fn a_secret_within_a_longer_one_does_not_hide_it() {
        let secrets = ["hunter22-production", "hunter22"];
        assert_eq!(blotted(&secrets, &["a hunter22", "-production b"]), format!("a {} b", "*".repeat(19)));
        assert_eq!(blotted(&secrets, &["a hunter22", "-prod"]), "a ********-prod");
        assert_eq!(blotted(&secrets, &["a hunter22"]), "a ********", "at the end of the stream");
    }

    #[test]
    fn nothing_to_look_for_changes_nothing() {
        let mut blotter = Blotter::new(&[Vec::new()]);
        assert!(blotter.is_idle() && blotter.pass(b"abc") == b"abc" && blotter.rest().is_empty());
    }

    proptest! {
        #[test]
        fn no_secret_comes_through_and_no_byte_is_lost(
            parts in prop::collection::vec(prop::collection::vec(prop::sample::select(b"abn".to_vec()), 0..6), 0..12),
            secret in prop::collection::vec(prop::sample::select(b"abn".to_vec()), 1..5),
            other in any::<Vec<u8>>(),
        ) {
            let mut blotter = Blotter::new(&[secret.clone(), other]);
            let mut out: Vec<u8> = parts.iter().flat_map(|part| blotter.pass(part)).collect();
            out.extend(blotter.rest());
            assert_eq!(out.len(), parts.iter().map(Vec::len).sum::<usize>());
            assert!(!out.windows(secret.len()).any(|window| window == secret));
            assert!(out.iter().zip(parts.concat()).all(|(now, was)| *now == was || *now == b'*'));
        }
    }
}
