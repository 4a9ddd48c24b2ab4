//! The bytes of a log, unpacked where it is packed, handed on block by block.
//!
//! Blocks are looked through by several threads while the next ones are read; a log is taken in order all the same, and memory stays the same however
//! long it is.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZero;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use bystander_memory::explain::{Explainer, Sieved};

use super::logs::Log;
use crate::packed::unpacked;

/// Bytes that are read at once; with the table of the sieve they fit into the cache that each core has for itself, and twice as many no longer do.
const BLOCK: usize = 128 << 10;
/// Threads that look through blocks, at most: more than these a disk does not feed.
const THREADS: usize = 4;
/// Blocks that a thread may be ahead.
const AHEAD: usize = 3;

/// Reads a log to its end; says so where a packed one is damaged, or cut, after what could be read.
pub(super) fn feed(log: &Log, explainer: &mut Explainer) -> io::Result<Option<String>> {
    let raw: Box<dyn Read + Send> = match &log.path {
        Some(path) => Box::new(File::open(path)?),
        None => Box::new(io::stdin()),
    };
    let (text, packed) = unpacked(raw, BLOCK)?;
    match read(text, explainer) {
        Ok(()) => Ok(None),
        // What came before the damage is still a log.
        Err(error) if packed => Ok(Some(format!("its packed data ends or is damaged after what was read ({error})"))),
        Err(error) => Err(error),
    }
}

/// Hands on everything up to the end, or to an error.
fn read(text: Box<dyn Read + Send>, explainer: &mut Explainer) -> io::Result<()> {
    let mut source = Source { text, next: 0, ended: Ok(false) };
    let mut first = vec![0; BLOCK];
    let filled = source.fill(&mut first);
    explainer.block(&first[..filled]);
    if !matches!(source.ended, Ok(false)) {
        return source.ended.map(drop);
    }
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let free = [first].into_iter().chain((1..threads * AHEAD).map(|_| vec![0; BLOCK])).collect();
    let road = Road {
        source: Mutex::new(source),
        order: Mutex::new(Order { explainer, next: 0, early: BTreeMap::new(), free }),
        freed: Condvar::new(),
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| road.look_through());
        }
        road.look_through();
    });
    road.source.into_inner().unwrap_or_else(PoisonError::into_inner).ended.map(drop)
}

/// What the threads share.
struct Road<'a> {
    source: Mutex<Source>,
    order: Mutex<Order<'a>>,
    /// A buffer has become free.
    freed: Condvar,
}

impl Road<'_> {
    /// Looks through one block after another until there are none. Whoever has the block that is next hands it on, with those that were waiting for it, so
    /// that no thread is woken for a block.
    fn look_through(&self) {
        loop {
            let mut buffer = self.free();
            let (nth, filled) = {
                let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
                if !matches!(source.ended, Ok(false)) {
                    return;
                }
                (source.number(), source.fill(&mut buffer))
            };
            let sieved = Sieved::of(&buffer[..filled]);
            self.order.lock().unwrap_or_else(PoisonError::into_inner).take(nth, Block { buffer, filled, sieved });
            self.freed.notify_all();
        }
    }

    /// A buffer that nobody uses. A block gets its buffer before its number, so that the one that is waited for is always on its way.
    fn free(&self) -> Vec<u8> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(buffer) = order.free.pop() {
                return buffer;
            }
            order = self.freed.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Where blocks come from.
struct Source {
    text: Box<dyn Read + Send>,
    next: u64,
    ended: io::Result<bool>,
}

impl Source {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Fills a block up, as far as there is something.
    fn fill(&mut self, block: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < block.len() && matches!(self.ended, Ok(false)) {
            match self.text.read(&mut block[filled..]) {
                Ok(0) => self.ended = Ok(true),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.ended = Err(error),
            }
        }
        filled
    }
}

/// A block that was looked through.
struct Block {
    buffer: Vec<u8>,
    filled: usize,
    sieved: Sieved,
}

/// Blocks on their way to the explainer, which wants them in order.
struct Order<'a> {
    explainer: &'a mut Explainer,
    next: u64,
    /// Those that came before their turn.
    early: BTreeMap<u64, Block>,
    free: Vec<Vec<u8>>,
}

impl Order<'_> {
    fn take(&mut self, nth: u64, block: Block) {
        self.early.insert(nth, block);
        while let Some(block) = self.early.remove(&self.next) {
            self.explainer.sieved(&block.buffer[..block.filled], &block.sieved);
            self.next += 1;
            self.free.push(block.buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use bystander_memory::explain::{Asked, Explainer, document};
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::{Log, feed};

    const LOG: &str = include_str!("../../../../../memory/tests/fixtures/sglang-0.5.9-simulated-llama8b.log");

    #[test]
    fn a_packed_log_that_is_cut_anywhere_tells_what_could_be_read_and_no_other_number() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(LOG.as_bytes()).expect("memory takes it");
        let folder = tempfile::tempdir().expect("a folder");
        for packed in [gzip.finish().expect("memory takes it"), zstd::encode_all(LOG.as_bytes(), 3).expect("memory takes it")] {
            for end in (0..packed.len()).step_by(41).chain([packed.len() - 1, packed.len()]) {
                let path = folder.path().join("server.log");
                std::fs::write(&path, &packed[..end]).expect("writes");
                let mut explainer = Explainer::new("server.log");
                let fed =
                    feed(&Log { name: "server.log".to_owned(), path: Some(path), place: None }, &mut explainer).expect("what is readable");
                // Of less than its first bytes nobody can tell that it is packed.
                assert!(end < 4 || fed.is_none() == (end == packed.len()), "cut at {end} of {}: {fed:?}", packed.len());
                for server in document(vec![explainer.finish()], Vec::new(), &Asked::default()).servers {
                    let tokens = server.formula.and_then(|formula| formula.tokens);
                    assert!(tokens.is_none_or(|tokens| tokens.low <= 421_755.0 && 421_755.0 <= tokens.high), "cut at {end}: {tokens:?}");
                }
            }
        }
    }
}
