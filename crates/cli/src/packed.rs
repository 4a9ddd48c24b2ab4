//! Logs that are packed, told by how they begin.

use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// What gzip begins with.
pub(crate) const GZIP: &[u8] = b"\x1f\x8b";
/// What zstd begins with.
pub(crate) const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// The bytes of a log, unpacked where gzip or zstd packed it, and whether one of them did. So many bytes of packed data are read at once.
///
/// # Errors
/// What the system says of the first bytes.
pub(crate) fn unpacked(mut raw: impl Read + Send + 'static, buffer: usize) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let mut head = Vec::new();
    raw.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let (is_gzip, is_zstd) = (head.starts_with(GZIP), head == ZSTD);
    let whole = Cursor::new(head).chain(raw);
    let text: Box<dyn Read + Send> = if is_gzip {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(buffer, whole)))
    } else if is_zstd {
        Box::new(zstd::Decoder::new(whole)?)
    } else {
        Box::new(whole)
    };
    Ok((text, is_gzip || is_zstd))
}
