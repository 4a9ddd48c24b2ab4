//! The layout of the native recorder: records one behind the other, in a ring of bytes.
//!
//! A poll costs one or two `pread` and one `pwrite`, whatever the number of hits. Every record begins with the complement of its
//! place in the stream, written last: so a record is read whole or not at all, and one of an earlier pass over the ring is none.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::values::Values;
use super::{RawHit, word};

const HEAD_WORD: usize = 7;
const TAIL_OFFSET: u64 = 72;
const RECORD_HEAD: usize = 40;
const LEAST_BYTES: u64 = 1 << 12;
const MOST_BYTES: u64 = 1 << 28;

/// Where the stream of a ring lies, and how far it was read.
#[derive(Debug)]
pub(super) struct Stream {
    bytes: u64,
    data: u64,
    /// Bytes taken since the beginning of the stream.
    tail: u64,
    /// True where there was no record at the tail when it was looked at last.
    stuck: bool,
}

impl Stream {
    /// Reads the shape from the words of the head; `None` where it cannot be one, or the file is shorter than it says.
    pub(super) fn of(words: &[u8], head: u64, file: u64) -> Option<Self> {
        let stream = Self { bytes: word(words, 2), data: word(words, 8), tail: word(words, 9), stuck: false };
        let sound = stream.bytes.is_power_of_two()
            && (LEAST_BYTES..=MOST_BYTES).contains(&stream.bytes)
            && stream.data >= head
            && stream.data.checked_add(stream.bytes).is_some_and(|end| end <= file);
        sound.then_some(stream)
    }

    /// Takes the records that were published by the time the head was read.
    pub(super) fn take(&mut self, file: &File, head: &[u8]) -> io::Result<Vec<RawHit>> {
        let published = word(head, HEAD_WORD);
        let waiting = published.wrapping_sub(self.tail);
        if waiting == 0 {
            return Ok(Vec::new());
        }
        if waiting > self.bytes {
            // No writer gets there: the bytes say nothing.
            self.free(file, published)?;
            return Ok(Vec::new());
        }
        let bytes = self.read(file, waiting)?;
        let (hits, taken) = records(&bytes, self.tail);
        // What is no record may be one a moment later; once is enough to wait for it.
        let lost = taken < waiting && taken == 0 && self.stuck;
        self.stuck = taken < waiting && !lost;
        self.free(file, if lost { published } else { self.tail.wrapping_add(taken) })?;
        Ok(hits)
    }

    fn read(&self, file: &File, waiting: u64) -> io::Result<Vec<u8>> {
        let start = self.tail & (self.bytes - 1);
        let first = waiting.min(self.bytes - start);
        let mut bytes = vec![0; usize::try_from(waiting).map_err(io::Error::other)?];
        let (before, behind) = bytes.split_at_mut(usize::try_from(first).map_err(io::Error::other)?);
        file.read_exact_at(before, self.data + start)?;
        if !behind.is_empty() {
            file.read_exact_at(behind, self.data)?;
        }
        Ok(bytes)
    }

    /// Gives the writer its room back; the complement tells it that the number is whole.
    fn free(&mut self, file: &File, tail: u64) -> io::Result<()> {
        if tail != self.tail {
            self.tail = tail;
            let words = [tail.to_ne_bytes(), (!tail).to_ne_bytes()];
            file.write_all_at(words.as_flattened(), TAIL_OFFSET)?;
        }
        Ok(())
    }
}

/// Decodes records up to the first bytes that are none; gives how many bytes they took.
fn records(bytes: &[u8], tail: u64) -> (Vec<RawHit>, u64) {
    let mut hits = Vec::new();
    let mut taken = 0;
    while let Some((hit, length)) = record(&bytes[taken..], tail.wrapping_add(taken as u64)) {
        hits.extend(hit);
        taken += length;
    }
    (hits, taken as u64)
}

/// Decodes one record; a payload that is none leaves a record without a hit.
fn record(bytes: &[u8], place: u64) -> Option<(Option<RawHit>, usize)> {
    let (words, _) = bytes.as_chunks::<8>();
    let [mark, time_ns, sequence, thread, tag] = words.first_chunk::<5>()?.map(u64::from_ne_bytes);
    let length = usize::try_from(tag >> 32).ok()?;
    let (probe, count) = (usize::try_from(tag >> 16 & 0xffff).ok()?, usize::try_from(tag & 0xffff).ok()?);
    let payload = bytes.get(RECORD_HEAD..RECORD_HEAD.checked_add(length)?)?;
    let whole = RECORD_HEAD.checked_add(length)?.checked_next_multiple_of(8)?;
    if mark != !place || whole > bytes.len() {
        return None;
    }
    let hit = Values::new(payload).take(count).map(|values| RawHit { sequence, time_ns, thread, probe, values });
    Some((hit, whole))
}

#[cfg(test)]
mod tests {
    use super::{RECORD_HEAD, records};

    fn record(place: u64, payload: &[u8], values: u64) -> Vec<u8> {
        let tag = (payload.len() as u64) << 32 | 3 << 16 | values;
        let mut bytes: Vec<u8> = [!place, 7, 5, 9, tag].iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn whole_records_are_taken_and_a_torn_one_waits() {
        let mut bytes = record(4096, &[0], 1);
        let first = bytes.len() as u64;
        bytes.extend(record(4096 + first, &[2, 1], 2));
        let (hits, taken) = records(&bytes, 4096);
        assert_eq!((hits.len(), taken), (2, bytes.len() as u64));
        assert_eq!((hits[0].sequence, hits[0].time_ns, hits[0].thread, hits[0].probe), (5, 7, 9, 3));
        for end in 0..bytes.len() {
            let (hits, taken) = records(&bytes[..end], 4096);
            assert_eq!((hits.len() as u64, taken), if end as u64 >= first { (1, first) } else { (0, 0) }, "cut at {end}");
        }
    }

    #[test]
    fn a_record_of_an_earlier_pass_is_none_and_a_bad_payload_is_passed_over() {
        assert_eq!(records(&record(0, &[0], 1), 4096).1, 0);
        let mut bytes = record(0, &[99], 1);
        bytes.extend(record(bytes.len() as u64, &[0], 1));
        let (hits, taken) = records(&bytes, 0);
        assert_eq!((hits.len(), taken), (1, bytes.len() as u64));
        let mut endless = record(0, &[0], 1);
        endless[36..RECORD_HEAD].fill(0xff);
        assert_eq!(records(&endless, 0).1, 0);
    }
}
