//! Logs that are packed, told by how they begin.

use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// What gzip begins with.
pub(crate) const GZIP: &[u8] = b"\x1f\x8b";
/// What zstd begins with.
pub(crate) const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// How often what is packed may be packed again, as where a backup packs what a rotation has packed already.
const AGAIN: u32 = 2;

/// The bytes of a log, unpacked where gzip or zstd packed it, and whether one of them did. So many bytes of packed data are read at once.
///
/// # Errors
/// What the system says of the first bytes.
pub(crate) fn unpacked(mut raw: impl Read + Send + 'static, buffer: usize) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let mut head = Vec::new();
    raw.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let is_packed = packing(&head).is_some();
    Ok((beneath(head, Box::new(raw), buffer, AGAIN)?, is_packed))
}

/// What packed something that begins like this.
fn packing(head: &[u8]) -> Option<&'static [u8]> {
    [GZIP, ZSTD].into_iter().find(|packing| head.starts_with(packing))
}

/// What lies beneath every packing, of which the first bytes were read.
fn beneath(head: Vec<u8>, rest: Box<dyn Read + Send>, buffer: usize, again: u32) -> io::Result<Box<dyn Read + Send>> {
    let packing = packing(&head);
    let whole = Cursor::new(head).chain(rest);
    let mut text: Box<dyn Read + Send> = match packing {
        Some(GZIP) => Box::new(MultiGzDecoder::new(BufReader::with_capacity(buffer, whole))),
        Some(_) => Box::new(zstd::Decoder::new(whole)?),
        None => return Ok(Box::new(whole)),
    };
    if again == 0 {
        return Ok(text);
    }
    let mut head = Vec::new();
    match text.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head) {
        Ok(_) => beneath(head, text, buffer, again - 1),
        // It is damaged at its very beginning, which whoever reads it is told.
        Err(error) => {
            // The beginning of what packed it again is no text.
            let is_packing = !head.is_empty() && [GZIP, ZSTD].iter().any(|packing| packing.starts_with(&head) || head.starts_with(packing));
            let head = if is_packing { Vec::new() } else { head };
            Ok(Box::new(Cursor::new(head).chain(Damaged(Some(error)))))
        }
    }
}

/// Ends with an error, once.
struct Damaged(Option<io::Error>);

impl Read for Damaged {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read as _, Write as _};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::unpacked;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text).expect("memory takes it");
        packed.finish().expect("memory takes it")
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::encode_all(text, 1).expect("memory takes it")
    }

    fn read(packed: Vec<u8>) -> (Vec<u8>, bool, bool) {
        let (mut reader, is_packed) = unpacked(Cursor::new(packed), 16).expect("bytes in memory");
        let mut text = Vec::new();
        let is_whole = reader.read_to_end(&mut text).is_ok();
        (text, is_packed, is_whole)
    }

    #[test]
    fn what_is_packed_is_unpacked_as_often_as_it_was() {
        let text = b"Load weight begin.".repeat(100);
        for (packed, is_packed) in [
            (text.clone(), false),
            (gzip(&text), true),
            (zstd(&text), true),
            (gzip(&gzip(&text)), true),
            (gzip(&zstd(&text)), true),
            (zstd(&gzip(&gzip(&text))), true),
        ] {
            assert_eq!(read(packed), (text.clone(), is_packed, true));
        }
        for short in [&b""[..], b"a", b"\x1f", b"abc"] {
            assert_eq!(read(short.to_vec()), (short.to_vec(), false, true));
            assert_eq!(read(gzip(short)), (short.to_vec(), true, true));
        }
    }

    #[test]
    fn damage_is_told_after_what_could_be_read_wherever_it_lies() {
        let text = b"Load weight begin.".repeat(100);
        for whole in [gzip(&text), gzip(&gzip(&text)), zstd(&text), gzip(&zstd(&text))] {
            for end in 4..whole.len() {
                let (found, is_packed, is_whole) = read(whole[..end].to_vec());
                assert!(is_packed && (!is_whole || found == text), "cut at {end} of {}", whole.len());
                assert!(text.starts_with(&found), "cut at {end} of {}", whole.len());
            }
        }
        assert!(!read(b"\x1f\x8bnothing of the kind".to_vec()).2);
    }
}
