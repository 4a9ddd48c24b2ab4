//! One process's ring, read by `pread` and freed by `pwrite`; both layouts are described in `python/…/ring.py`.
//!
//! The head of the file is read once a poll, whatever the number of hits; what the layouts differ in is in `slots` and `stream`.

mod repr;
mod slots;
mod stream;
mod values;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bystander_model::value::Value;

use slots::Slots;
use stream::Stream;

const MAGIC: u64 = 0x474E_4952_5942_5945;
const SLOTS: u64 = 2;
const STREAM: u64 = 3;
const WORD: u64 = 8;
const FORKS: usize = 11;
const FIRST_COUNTER: usize = 16;
const COUNTERS_A_PROBE: usize = 4;
const NAME_BYTES: usize = 256;
const MOST_PROBES: u64 = 1 << 16;

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
    pub(crate) values: Vec<Value>,
}

/// What a process has counted of one probe.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// How often control came to the place.
    pub(crate) passes: u64,
    /// Passes whose condition held.
    pub(crate) hits: u64,
    /// Passes that the rate turned away.
    pub(crate) throttled: u64,
    /// Conditions that could not be evaluated.
    pub(crate) misjudged: u64,
}

/// An open ring.
#[derive(Debug)]
pub(crate) struct Ring {
    file: File,
    body: Body,
    /// The head of the file as it was read last: the words, the counters, the name.
    head: Vec<u8>,
}

#[derive(Debug)]
enum Body {
    Slots(Slots),
    Stream(Stream),
}

impl Ring {
    /// Opens a ring; `None` while its process is still preparing it, or where the file is no ring.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut words = vec![0; FIRST_COUNTER * WORD as usize];
        if file.read_at(&mut words, 0)? < words.len() {
            return Ok(None);
        }
        let probes = word(&words, 5);
        if word(&words, 0) != MAGIC || probes > MOST_PROBES {
            return Ok(None);
        }
        let length = (FIRST_COUNTER + COUNTERS_A_PROBE * probes as usize) * WORD as usize + NAME_BYTES;
        let body = match word(&words, 1) {
            SLOTS => Slots::of(&words, length as u64).map(Body::Slots),
            STREAM => Stream::of(&words, length as u64, file.metadata()?.len()).map(Body::Stream),
            _ => None,
        };
        words.resize(length, 0);
        Ok(body.map(|body| Self { file, body, head: words }))
    }

    /// Takes everything out of the ring, so that the writer has room, and reads the counters and the name.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        self.file.read_exact_at(&mut self.head, 0)?;
        match &mut self.body {
            Body::Slots(slots) => slots.read(&self.file),
            Body::Stream(stream) => stream.read(&self.file, &self.head),
        }
    }

    /// Decodes up to some hits of those that were taken out, in the order of their numbers.
    pub(crate) fn decode(&mut self, most: usize) -> Vec<RawHit> {
        match &mut self.body {
            Body::Slots(slots) => slots.decode(most),
            Body::Stream(stream) => stream.decode(most),
        }
    }

    /// What the process had counted of a probe when the ring was read last.
    pub(crate) fn counts(&self, probe: usize) -> Counts {
        let counter = |counter| {
            let index = probe.checked_mul(COUNTERS_A_PROBE).and_then(|offset| offset.checked_add(FIRST_COUNTER + counter));
            index.filter(|index| (index + 1) * WORD as usize <= self.head.len() - NAME_BYTES).map_or(0, |index| word(&self.head, index))
        };
        Counts { passes: counter(0), hits: counter(1), throttled: counter(2), misjudged: counter(3) }
    }

    /// How often the process had forked when the ring was read last.
    pub(crate) fn forks(&self) -> u64 {
        word(&self.head, FORKS)
    }

    /// The name that `multiprocessing` gave the process, as it was when the ring was read last.
    pub(crate) fn process_name(&self) -> Option<String> {
        let field = &self.head[self.head.len() - NAME_BYTES..];
        let length = usize::from(field[0]);
        (length > 0).then(|| String::from_utf8_lossy(&field[1..=length.min(field.len() - 1)]).into_owned())
    }
}

fn word(bytes: &[u8], index: usize) -> u64 {
    bytes.as_chunks::<8>().0.get(index).map_or(0, |word| u64::from_ne_bytes(*word))
}
