//! Reads the files that keep a trial's output: single lines, and the hash of the whole.
//!
//! Writing them belongs to whoever runs the trial. Lines are counted from 1 and end at `\n`; bytes that are not UTF-8 are replaced, and a
//! line of any length takes no more memory than the given limit.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// One line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The text without its line end.
    pub text: String,
    /// Whether the limit cut it.
    pub cut: bool,
}

/// Reads line `number` (from 1) of a file, at most `limit` bytes of it; `None` where the file has fewer lines.
///
/// # Errors
/// The file cannot be read.
pub fn line(path: &Path, number: u64, limit: usize) -> io::Result<Option<Line>> {
    let mut reader = BufReader::new(File::open(path)?);
    for _ in 1..number {
        if reader.skip_until(b'\n')? == 0 {
            return Ok(None);
        }
    }
    let mut bytes = Vec::new();
    // Two bytes more, to tell a line end from a cut.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(2);
    reader.take(most).read_until(b'\n', &mut bytes)?;
    Ok(if bytes.is_empty() { None } else { Some(text_of(bytes, limit)) })
}

fn text_of(mut bytes: Vec<u8>, limit: usize) -> Line {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
    let cut = bytes.len() > limit;
    bytes.truncate(limit);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Line { text, cut }
}

/// Hashes a file: SHA-256 in hex.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_file(path: &Path) -> io::Result<String> {
    sha256_file_with(path, &mut || Ok(()))
}

/// Hashes a file: SHA-256 in hex; `each` is called before each part of it and ends the work by its error.
///
/// # Errors
/// The file cannot be read, or that of `each`.
pub fn sha256_file_with(path: &Path, each: &mut dyn FnMut() -> io::Result<()>) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        each()?;
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Hashes bytes: SHA-256 in hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Line, line, sha256_file, sha256_file_with, sha256_hex};

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("file");
        std::fs::write(file.path(), bytes).expect("write");
        file
    }

    fn whole(text: &str) -> Option<Line> {
        Some(Line { text: text.to_owned(), cut: false })
    }

    #[test]
    fn lines_are_found_whatever_their_ends_and_bytes() {
        let file = file(b"one\r\ntwo \xff\n\nlast");
        let read = |number| line(file.path(), number, 100).expect("reads");
        assert_eq!(read(1), whole("one"));
        assert_eq!(read(2), whole("two \u{fffd}"));
        assert_eq!(read(3), whole(""));
        assert_eq!(read(4), whole("last"));
        assert_eq!(read(5), None);
        assert_eq!(read(4_000_000_000), None);
    }

    #[test]
    fn a_huge_line_is_cut_at_the_limit_and_the_next_one_is_found() {
        let mut bytes = vec![b'x'; 5_000_000];
        bytes.extend(b"\nafter\n");
        let file = file(&bytes);
        assert_eq!(line(file.path(), 1, 10).expect("reads"), Some(Line { text: "x".repeat(10), cut: true }));
        assert_eq!(line(file.path(), 2, 5).expect("reads"), whole("after"));
        assert_eq!(line(file.path(), 2, 4).expect("reads"), Some(Line { text: "afte".into(), cut: true }));
    }

    #[test]
    fn hashes_are_those_of_sha256() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), abc);
        assert_eq!(sha256_file(file(b"abc").path()).expect("reads"), abc);
        let long: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(sha256_file(file(&long).path()).expect("reads"), sha256_hex(&long));
    }

    #[test]
    fn a_hash_of_a_long_file_ends_when_it_is_told_to() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(1 << 40).expect("a file with nothing in it");
        let mut parts = 0;
        let hashed = sha256_file_with(file.path(), &mut || {
            parts += 1;
            if parts > 3 { Err(std::io::Error::other("enough")) } else { Ok(()) }
        });
        assert_eq!(hashed.expect_err("it was told to end").to_string(), "enough");
    }
}
