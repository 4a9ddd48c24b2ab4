//! The bytes of a log, unpacked where it is packed, handed on block by block.

use std::fs::File;
use std::io::{self, Read};

use bystander_memory::explain::Explainer;
use flate2::read::MultiGzDecoder;

use super::logs::Log;

/// Bytes that are read at once.
const BLOCK: usize = 1 << 20;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Reads a log to its end; says so where a packed one is damaged, or cut, after what could be read.
pub(super) fn feed(log: &Log, explainer: &mut Explainer) -> io::Result<Option<String>> {
    let mut raw: Box<dyn Read> = match &log.path {
        Some(path) => Box::new(File::open(path)?),
        None => Box::new(io::stdin().lock()),
    };
    let mut head = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut head)?;
    let packed = head.starts_with(GZIP) || head == ZSTD;
    let whole = io::Cursor::new(head.clone()).chain(raw);
    let mut text: Box<dyn Read> = if head.starts_with(GZIP) {
        Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(BLOCK, whole)))
    } else if head == ZSTD {
        Box::new(zstd::Decoder::new(whole)?)
    } else {
        Box::new(whole)
    };
    let mut block = vec![0; BLOCK];
    loop {
        match text.read(&mut block) {
            Ok(0) => return Ok(None),
            Ok(read) => explainer.block(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What came before the damage is still a log.
            Err(error) if packed => return Ok(Some(format!("its packed data ends or is damaged after what was read ({error})"))),
            Err(error) => return Err(error),
        }
    }
}
