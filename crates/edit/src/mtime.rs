//! Chooses the modification time of a file that an edit or a partial undo has just given new bytes.
//!
//! The time is fresh, so that build tools see the change. Python's bytecode remembers only the whole second of the
//! time and the size, both modulo 2^32: where another version of the file had the same of both, the time is moved on
//! by whole seconds until it is told apart.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::metadata::FileTime;

/// What bytecode remembers of its source: the second of its modification time and its size, both modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    /// The second.
    pub(crate) second: u32,
    /// The size, in bytes.
    pub(crate) size: u32,
}

impl Stamp {
    /// Makes the stamp of a version of a file.
    pub(crate) fn new(mtime: FileTime, size: usize) -> Self {
        let low = |wide: [u8; 8]| u32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]]);
        Self { second: low(mtime.s.to_le_bytes()), size: low((size as u64).to_le_bytes()) }
    }
}

/// Chooses a time after `last` for bytes of this size that no stamp of `taken` has.
pub(crate) fn fresh(last: FileTime, size: usize, taken: &[Stamp]) -> FileTime {
    after(now(), last, size, taken)
}

/// The present.
pub(crate) fn now() -> FileTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    FileTime { s: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), ns: i64::from(since.subsec_nanos()) }
}

fn after(now: FileTime, last: FileTime, size: usize, taken: &[Stamp]) -> FileTime {
    let mut time = if now > last { now } else { FileTime { s: last.s.wrapping_add(1), ns: last.ns } };
    while taken.contains(&Stamp::new(time, size)) {
        time.s = time.s.wrapping_add(1);
    }
    time
}

#[cfg(test)]
mod tests {
    use super::{FileTime, Stamp, after};

    #[test]
    fn the_time_is_now_unless_a_version_of_that_size_has_the_second() {
        let now = FileTime { s: 100, ns: 7 };
        let old = FileTime { s: 100, ns: 1 };
        assert_eq!(after(now, old, 5, &[Stamp::new(old, 6)]), now);
        assert_eq!(after(now, old, 5, &[Stamp::new(old, 5)]), FileTime { s: 101, ns: 7 });
        let taken = [Stamp { second: 100, size: 5 }, Stamp { second: 101, size: 5 }, Stamp { second: 102, size: 4 }];
        assert_eq!(after(now, old, 5, &taken).s, 102);
    }

    #[test]
    fn the_time_is_after_that_of_a_file_from_the_future() {
        let future = FileTime { s: 500, ns: 0 };
        assert_eq!(after(FileTime { s: 100, ns: 0 }, future, 5, &[]).s, 501);
    }

    #[test]
    fn stamps_wrap_as_bytecode_does() {
        let time = FileTime { s: (1 << 32) + 3, ns: 0 };
        assert_eq!(Stamp::new(time, (1 << 32) + 9), Stamp { second: 3, size: 9 });
    }
}
