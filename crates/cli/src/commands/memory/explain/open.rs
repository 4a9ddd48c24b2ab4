//! The bytes of a log, unpacked where it is packed, handed on block by block.
//!
//! Blocks are looked through by several threads while the next ones are read; a log is taken in order all the same, and memory stays the same however
//! long it is.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use bystander_memory::explain::{Explainer, Sieved};

use super::logs::Log;
use crate::packed::unpacked;

/// Bytes that are read at once; one for each thread fits into the caches.
const BLOCK: usize = 256 << 10;
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
    let (give, free) = channel();
    let mut source = Source { text, free, next: 0, ended: Ok(false) };
    let mut first = vec![0; BLOCK];
    let filled = source.fill(&mut first);
    explainer.block(&first[..filled]);
    if !matches!(source.ended, Ok(false)) {
        return source.ended.map(drop);
    }
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    for buffer in [first].into_iter().chain((1..threads * AHEAD).map(|_| vec![0; BLOCK])) {
        // The other end is in this function.
        let _ = give.send(buffer);
    }
    let source = Mutex::new(source);
    thread::scope(|scope| {
        let (tell, found) = channel();
        for _ in 0..threads {
            let (source, tell) = (&source, tell.clone());
            scope.spawn(move || look_through(source, &tell));
        }
        drop(tell);
        take(&found, &give, explainer);
    });
    source.into_inner().unwrap_or_else(PoisonError::into_inner).ended.map(drop)
}

/// Where blocks come from.
struct Source {
    text: Box<dyn Read + Send>,
    /// Buffers that nobody uses. A block gets its buffer before its number, so that the one that is waited for is always on its way.
    free: Receiver<Vec<u8>>,
    next: u64,
    ended: io::Result<bool>,
}

impl Source {
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

/// A block with its place in the order.
struct Block {
    nth: u64,
    buffer: Vec<u8>,
    filled: usize,
    sieved: Sieved,
}

fn look_through(source: &Mutex<Source>, tell: &Sender<Block>) {
    loop {
        let mut from = source.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(from.ended, Ok(false)) {
            return;
        }
        let Ok(mut buffer) = from.free.recv() else { return };
        let nth = from.next;
        from.next += 1;
        let filled = from.fill(&mut buffer);
        drop(from);
        let sieved = Sieved::of(&buffer[..filled]);
        if tell.send(Block { nth, buffer, filled, sieved }).is_err() {
            return;
        }
    }
}

/// Takes blocks in their order, and gives their buffers back.
fn take(found: &Receiver<Block>, give: &Sender<Vec<u8>>, explainer: &mut Explainer) {
    let mut early = BTreeMap::new();
    let mut next = 0;
    for block in found {
        early.insert(block.nth, block);
        while let Some(block) = early.remove(&next) {
            explainer.sieved(&block.buffer[..block.filled], &block.sieved);
            next += 1;
            // Nobody wants it any more where all was read.
            let _ = give.send(block.buffer);
        }
    }
}
