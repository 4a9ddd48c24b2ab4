//! The layout of the plain Python recorder: slots of one size, each with a commit byte.
//!
//! The writer commits a slot last, so a slot is read whole or not at all, also after its process was killed.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::{RawHit, word};
use crate::marshal::{Data, Reader};
use crate::value::value;

const SLOT_HEAD: usize = 32;
const LENGTH_SHIFT: u32 = 16;
const MOST_SLOTS: u64 = 1 << 20;
const MOST_SLOT_BYTES: u64 = 1 << 16;

/// Where the slots of a ring lie.
#[derive(Debug)]
pub(super) struct Slots {
    count: u64,
    bytes: u64,
    commits: u64,
    data: u64,
    /// Hits that were taken out and not handed on.
    taken: VecDeque<RawHit>,
}

impl Slots {
    /// Reads the shape from the words of the head, which is `head` bytes long; `None` where it cannot be one.
    pub(super) fn of(words: &[u8], head: u64) -> Option<Self> {
        let slots =
            Self { count: word(words, 2), bytes: word(words, 3), commits: word(words, 7), data: word(words, 8), taken: VecDeque::new() };
        let sound = (1..=MOST_SLOTS).contains(&slots.count)
            && (SLOT_HEAD as u64..=MOST_SLOT_BYTES).contains(&slots.bytes)
            && slots.commits == head
            && slots.data >= slots.commits + slots.count
            && slots.data <= u64::from(u32::MAX);
        sound.then_some(slots)
    }

    /// Takes the committed slots out.
    pub(super) fn read(&mut self, file: &File) -> io::Result<()> {
        let mut commits = vec![0; usize::try_from(self.count).map_err(io::Error::other)?];
        file.read_exact_at(&mut commits, self.commits)?;
        let mut slot = vec![0; usize::try_from(self.bytes).map_err(io::Error::other)?];
        let mut hits = Vec::new();
        for (index, _) in (0_u64..).zip(&commits).filter(|(_, commit)| **commit != 0) {
            file.read_exact_at(&mut slot, self.data + index * self.bytes)?;
            hits.extend(decode(&slot));
            file.write_all_at(&[0], self.commits + index)?;
        }
        hits.sort_by_key(|hit| hit.sequence);
        self.taken.extend(hits);
        Ok(())
    }

    /// Hands on up to some of the hits that were taken out.
    pub(super) fn decode(&mut self, most: usize) -> Vec<RawHit> {
        self.taken.drain(..most.min(self.taken.len())).collect()
    }
}

fn decode(slot: &[u8]) -> Option<RawHit> {
    let (words, _) = slot.as_chunks::<8>();
    let [sequence, time_ns, thread, tag] = words.first_chunk::<4>()?.map(u64::from_ne_bytes);
    let probe = usize::try_from(tag & ((1 << LENGTH_SHIFT) - 1)).ok()?;
    let length = usize::try_from(tag >> LENGTH_SHIFT).ok()?;
    let payload = slot.get(SLOT_HEAD..SLOT_HEAD.checked_add(length)?)?;
    let (Data::Tuple(values) | Data::List(values)) = Reader::new(payload).next_value()? else { return None };
    Some(RawHit { sequence, time_ns, thread, probe, values: values.into_iter().map(value).collect() })
}
