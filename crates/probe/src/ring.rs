//! Reading one process's ring by `pread` and freeing its slots by `pwrite`; the layout is described in `python/…/ring.py`.
//!
//! The writer commits a slot last, so a slot is read whole or not at all, also after its process was killed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::marshal::{Data, Reader};

const MAGIC: u64 = 0x474E_4952_5942_5945;
const VERSION: u64 = 1;
const WORD: u64 = 8;
const FIRST_HITS: u64 = 16;
const NAME_BYTES: u64 = 256;
const SLOT_HEAD: usize = 32;
const LENGTH_SHIFT: u32 = 16;
const MOST_SLOTS: u64 = 1 << 20;
const MOST_SLOT_BYTES: u64 = 1 << 16;

/// One hit as it lies in a ring.
#[derive(Debug)]
pub(crate) struct RawHit {
    /// The number in its process.
    pub(crate) sequence: u64,
    /// Wall-clock nanoseconds since the epoch.
    pub(crate) time_ns: u64,
    /// The thread's native id.
    pub(crate) thread: u64,
    /// The probe's index in the plan.
    pub(crate) probe: usize,
    /// The captured values.
    pub(crate) values: Vec<Data>,
}

/// An open ring.
#[derive(Debug)]
pub(crate) struct Ring {
    file: File,
    slots: u64,
    slot_bytes: u64,
    probes: u64,
    commits: u64,
    data: u64,
}

impl Ring {
    /// Opens a ring; `None` while its process is still preparing it, or where the file is no ring.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut head = [0; 9 * WORD as usize];
        if file.read_at(&mut head, 0)? < head.len() {
            return Ok(None);
        }
        let word = |index: usize| head.as_chunks::<8>().0.get(index).map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let ring = Self { file, slots: word(2), slot_bytes: word(3), probes: word(5), commits: word(7), data: word(8) };
        let sound = word(0) == MAGIC
            && word(1) == VERSION
            && (1..=MOST_SLOTS).contains(&ring.slots)
            && (SLOT_HEAD as u64..=MOST_SLOT_BYTES).contains(&ring.slot_bytes)
            && ring.commits == (FIRST_HITS + ring.probes) * WORD + NAME_BYTES
            && ring.data >= ring.commits + ring.slots;
        Ok(sound.then_some(ring))
    }

    /// Takes the committed hits out of the ring, in the order of their numbers.
    pub(crate) fn take(&self) -> io::Result<Vec<RawHit>> {
        let mut commits = vec![0; usize::try_from(self.slots).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut commits, self.commits)?;
        let mut slot = vec![0; usize::try_from(self.slot_bytes).map_err(io::Error::other)?];
        let mut hits = Vec::new();
        for (index, _) in (0_u64..).zip(&commits).filter(|(_, commit)| **commit != 0) {
            self.file.read_exact_at(&mut slot, self.data + index * self.slot_bytes)?;
            hits.extend(decode(&slot));
            self.file.write_all_at(&[0], self.commits + index)?;
        }
        hits.sort_by_key(|hit| hit.sequence);
        Ok(hits)
    }

    /// Reads how often a probe was hit, recorded or not.
    pub(crate) fn hits(&self, probe: usize) -> io::Result<u64> {
        let mut word = [0; WORD as usize];
        let index = u64::try_from(probe).map_err(io::Error::other)?;
        if index >= self.probes {
            return Ok(0);
        }
        self.file.read_exact_at(&mut word, (FIRST_HITS + index) * WORD)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// Reads the name that `multiprocessing` gave the process.
    pub(crate) fn process_name(&self) -> io::Result<Option<String>> {
        let mut field = [0; NAME_BYTES as usize];
        self.file.read_exact_at(&mut field, self.commits - NAME_BYTES)?;
        let length = usize::from(field[0]);
        Ok((length > 0).then(|| String::from_utf8_lossy(&field[1..=length.min(field.len() - 1)]).into_owned()))
    }
}

fn decode(slot: &[u8]) -> Option<RawHit> {
    let (words, _) = slot.as_chunks::<8>();
    let [sequence, time_ns, thread, tag] = words.first_chunk::<4>()?.map(u64::from_ne_bytes);
    let probe = usize::try_from(tag & ((1 << LENGTH_SHIFT) - 1)).ok()?;
    let length = usize::try_from(tag >> LENGTH_SHIFT).ok()?;
    let payload = slot.get(SLOT_HEAD..SLOT_HEAD.checked_add(length)?)?;
    let (Data::Tuple(values) | Data::List(values)) = Reader::new(payload).next_value()? else { return None };
    Some(RawHit { sequence, time_ns, thread, probe, values })
}
