//! The layout of the native recorder: records one behind the other, in a ring of bytes.
//!
//! A look costs one or two `pread` and one `pwrite`, whatever the number of hits, and frees the room before anything is decoded, which
//! takes far longer. Every record begins with the complement of its
//! place in the stream, written last: so a record is read whole or not at all, and one of an earlier pass over the ring is none.

use std::collections::VecDeque;
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
    taken: VecDeque<Taken>,
}

/// Whole records that were taken out, and how many bytes of them were decoded.
#[derive(Debug)]
struct Taken {
    bytes: Vec<u8>,
    decoded: usize,
}

impl Stream {
    /// Reads the shape from the words of the head; `None` where it cannot be one, or the file is shorter than it says.
    pub(super) fn of(words: &[u8], head: u64, file: u64) -> Option<Self> {
        let stream = Self { bytes: word(words, 2), data: word(words, 8), tail: word(words, 9), stuck: false, taken: VecDeque::new() };
        let sound = stream.bytes.is_power_of_two()
            && (LEAST_BYTES..=MOST_BYTES).contains(&stream.bytes)
            && stream.data >= head
            && stream.data.checked_add(stream.bytes).is_some_and(|end| end <= file);
        sound.then_some(stream)
    }

    /// Takes out the records that were published by the time the head was read.
    pub(super) fn read(&mut self, file: &File, head: &[u8]) -> io::Result<()> {
        let published = word(head, HEAD_WORD);
        let waiting = published.wrapping_sub(self.tail);
        if waiting == 0 {
            return Ok(());
        }
        if waiting > self.bytes {
            // No writer gets there: the bytes say nothing.
            return self.free(file, published);
        }
        let mut bytes = self.copied(file, waiting)?;
        let whole = whole_records(&bytes, self.tail);
        // What is no record may be one a moment later; once is enough to wait for it.
        let lost = whole == 0 && self.stuck;
        self.stuck = (whole as u64) < waiting && !lost;
        bytes.truncate(whole);
        let tail = if lost { published } else { self.tail.wrapping_add(whole as u64) };
        if whole > 0 {
            self.taken.push_back(Taken { bytes, decoded: 0 });
        }
        self.free(file, tail)
    }

    /// Decodes up to some of the records that were taken out; one whose payload says nothing is passed over.
    pub(super) fn decode(&mut self, most: usize) -> Vec<RawHit> {
        let mut hits = Vec::new();
        while hits.len() < most
            && let Some(taken) = self.taken.front_mut()
        {
            match record(&taken.bytes[taken.decoded..]) {
                Some(record) => {
                    taken.decoded += record.whole;
                    hits.extend(record.hit());
                }
                None => drop(self.taken.pop_front()),
            }
        }
        hits
    }

    fn copied(&self, file: &File, waiting: u64) -> io::Result<Vec<u8>> {
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

/// How many bytes of whole records there are before the first that are none.
fn whole_records(bytes: &[u8], tail: u64) -> usize {
    let mut whole = 0;
    while let Some(record) = record(&bytes[whole..]).filter(|record| record.mark == !tail.wrapping_add(whole as u64)) {
        whole += record.whole;
    }
    whole
}

/// A record whose parts are there.
struct Record<'a> {
    mark: u64,
    time_ns: u64,
    sequence: u64,
    thread: u64,
    probe: usize,
    count: usize,
    payload: &'a [u8],
    /// The bytes up to the next record.
    whole: usize,
}

impl Record<'_> {
    fn hit(&self) -> Option<RawHit> {
        let values = Values::new(self.payload).take(self.count)?;
        Some(RawHit { sequence: self.sequence, time_ns: self.time_ns, thread: self.thread, probe: self.probe, values })
    }
}

fn record(bytes: &[u8]) -> Option<Record<'_>> {
    let (words, _) = bytes.as_chunks::<8>();
    let [mark, time_ns, sequence, thread, tag] = words.first_chunk::<5>()?.map(u64::from_ne_bytes);
    let length = usize::try_from(tag >> 32).ok()?;
    let (probe, count) = (usize::try_from(tag >> 16 & 0xffff).ok()?, usize::try_from(tag & 0xffff).ok()?);
    let payload = bytes.get(RECORD_HEAD..RECORD_HEAD.checked_add(length)?)?;
    let whole = RECORD_HEAD.checked_add(length)?.checked_next_multiple_of(8)?;
    (whole <= bytes.len()).then_some(Record { mark, time_ns, sequence, thread, probe, count, payload, whole })
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::{RECORD_HEAD, Stream, whole_records};

    fn record(place: u64, payload: &[u8], values: u64) -> Vec<u8> {
        let tag = (payload.len() as u64) << 32 | 3 << 16 | values;
        let mut bytes: Vec<u8> = [!place, 7, 5, 9, tag].iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// A stream file without a head, and words that say how far it was published.
    fn stream(data: &[u8]) -> (File, Stream) {
        let mut file = tempfile::tempfile().expect("makes a file");
        std::io::Write::write_all(&mut file, data).expect("writes");
        file.set_len(4096).expect("grows");
        (file, Stream { bytes: 4096, data: 0, tail: 0, stuck: false, taken: Default::default() })
    }

    fn published(bytes: u64) -> Vec<u8> {
        (0..8).flat_map(|index| if index == 7 { bytes } else { 0_u64 }.to_ne_bytes()).collect()
    }

    #[test]
    fn whole_records_are_taken_and_a_torn_one_waits() {
        let mut bytes = record(4096, &[0], 1);
        let first = bytes.len();
        bytes.extend(record(4096 + first as u64, &[2, 1], 2));
        assert_eq!(whole_records(&bytes, 4096), bytes.len());
        for end in 0..bytes.len() {
            assert_eq!(whole_records(&bytes[..end], 4096), if end >= first { first } else { 0 }, "cut at {end}");
        }
    }

    #[test]
    fn a_record_of_an_earlier_pass_is_none_and_one_longer_than_what_is_there_too() {
        assert_eq!(whole_records(&record(0, &[0], 1), 4096), 0);
        let mut endless = record(0, &[0], 1);
        endless[36..RECORD_HEAD].fill(0xff);
        assert_eq!(whole_records(&endless, 0), 0);
    }

    #[test]
    fn hits_come_in_portions_and_a_bad_payload_is_passed_over() {
        let mut bytes = record(0, &[99], 1);
        bytes.extend(record(bytes.len() as u64, &[2], 1));
        bytes.extend(record(bytes.len() as u64, &[1], 1));
        let (file, mut stream) = stream(&bytes);
        stream.read(&file, &published(bytes.len() as u64)).expect("reads");
        let hits = stream.decode(1);
        assert_eq!((hits.len(), hits[0].sequence, hits[0].time_ns, hits[0].thread, hits[0].probe), (1, 5, 7, 9, 3));
        assert_eq!((stream.decode(5).len(), stream.decode(5).len()), (1, 0));
    }

    #[test]
    fn bytes_that_stay_none_are_given_up_the_second_time() {
        let (file, mut stream) = stream(&[]);
        stream.read(&file, &published(64)).expect("reads");
        assert_eq!(stream.tail, 0);
        stream.read(&file, &published(64)).expect("reads");
        assert_eq!(stream.tail, 64);
        stream.read(&file, &published(1 << 40)).expect("reads");
        assert_eq!(stream.tail, 1 << 40);
    }
}
