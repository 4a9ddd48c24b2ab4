//! The index beside an output file that says when its bytes came: pairs of little-endian `u64`, an offset and a wall-clock
//! stamp in nanoseconds, both rising. The bytes from one offset up to the next were read at its stamp, or less than
//! [`COARSENESS_NS`] later.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bystander_model::ids::TimeNs;

/// Chunks that come closer together than this share an entry, unless something came on the other stream between them.
pub const COARSENESS_NS: u64 = 1_000_000;

/// The index of this output file.
#[must_use]
pub fn path_of(output: &Path) -> PathBuf {
    let mut name = OsString::from(output);
    name.push(".times");
    PathBuf::from(name)
}

/// From where on bytes came at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) offset: u64,
    pub(crate) time: TimeNs,
}

impl Mark {
    pub(super) fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..].copy_from_slice(&self.time.0.to_le_bytes());
        bytes
    }
}

/// A loaded index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times(Vec<Mark>);

impl Times {
    /// Reads the index of an output file; an entry that a crash cut short is left out.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn load(output: &Path) -> io::Result<Self> {
        let bytes = fs::read(path_of(output))?;
        let (entries, _cut) = bytes.as_chunks::<16>();
        Ok(Self(entries.iter().map(read_mark).collect()))
    }

    /// When the byte at `offset` came; `None` before the first entry.
    #[must_use]
    pub fn at(&self, offset: u64) -> Option<TimeNs> {
        let after = self.0.partition_point(|mark| mark.offset <= offset);
        Some(self.0.get(after.checked_sub(1)?)?.time)
    }
}

fn read_mark(entry: &[u8; 16]) -> Mark {
    let (offset, time) = entry.split_at(8);
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    Mark { offset: number(offset), time: TimeNs(number(time)) }
}

#[cfg(test)]
mod tests {
    use super::{Mark, TimeNs, Times, path_of};

    #[test]
    fn an_offset_has_the_time_of_the_entry_before_it() {
        let world = tempfile::tempdir().expect("temporary directory");
        let output = world.path().join("stdout");
        let mut bytes = Vec::new();
        for (offset, time) in [(0, 100), (7, 0x0102_0304_0506_0708)] {
            bytes.extend(Mark { offset, time: TimeNs(time) }.to_bytes());
        }
        bytes.extend([1, 2, 3]);
        std::fs::write(path_of(&output), bytes).expect("writes");
        let times = Times::load(&output).expect("loads");
        assert_eq!(times.at(0), Some(TimeNs(100)));
        assert_eq!(times.at(6), Some(TimeNs(100)));
        assert_eq!(times.at(7), Some(TimeNs(0x0102_0304_0506_0708)));
        assert_eq!(times.at(u64::MAX), Some(TimeNs(0x0102_0304_0506_0708)));
        assert_eq!(Times::default().at(5), None);
    }
}
