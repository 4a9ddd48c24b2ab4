//! SipHash with one key word, as CPython hashes a source into its bytecode.
//!
//! Sources: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF" (2012); CPython `Python/pyhash.c`,
//! `_Py_KeyedHash`: 2-4 rounds up to CPython 3.10, 1-3 rounds since 3.11.

/// Rounds for each word and at the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounds {
    word: usize,
    end: usize,
}

/// CPython 3.7 to 3.10.
pub(super) const TWO_FOUR: Rounds = Rounds { word: 2, end: 4 };
/// CPython 3.11 and newer.
pub(super) const ONE_THREE: Rounds = Rounds { word: 1, end: 3 };

/// Hashes bytes with the key `(key, 0)`.
pub(super) fn hash(rounds: Rounds, key: u64, bytes: &[u8]) -> u64 {
    let mut state = [key ^ 0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, key ^ 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let mut wide = [0; 8];
        wide.copy_from_slice(word);
        absorb(&mut state, u64::from_le_bytes(wide), rounds.word);
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    last[7] = bytes.len().to_le_bytes()[0];
    absorb(&mut state, u64::from_le_bytes(last), rounds.word);
    state[2] ^= 0xff;
    (0..rounds.end).for_each(|_| round(&mut state));
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn absorb(state: &mut [u64; 4], word: u64, rounds: usize) {
    state[3] ^= word;
    (0..rounds).for_each(|_| round(state));
    state[0] ^= word;
}

fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::{ONE_THREE, TWO_FOUR, hash};

    /// Values of `importlib.util.source_hash(b"hello world")` under its key, the magic number of each version.
    #[test]
    fn the_hash_is_that_of_each_python() {
        for (key, rounds, value) in [
            (168_627_541, TWO_FOUR, 0x5bee_e8f4_f1a8_e594_u64),
            (168_627_567, TWO_FOUR, 0xe0fe_90e0_97e8_204a),
            (168_627_623, ONE_THREE, 0xf33a_bdc5_0816_ac07),
            (168_627_699, ONE_THREE, 0x6fa3_8a80_154e_48e4),
        ] {
            assert_eq!(hash(rounds, key, b"hello world").to_le_bytes(), value.to_be_bytes());
        }
    }
}
