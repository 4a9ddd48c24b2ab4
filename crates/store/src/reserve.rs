//! Room on the disk for the last words of a run: taken at its start, given back where the disk is full, so that its record can say how it ended.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// What is held, bytes: some tens of small events with the pages of the database that each of them changes.
const SIZE: usize = 256 * 1024;

/// Held room. It has no name, so that nothing of it stays, however its holder ends.
#[derive(Debug)]
pub struct Reserve(Option<File>);

impl Reserve {
    /// Takes room in a folder, as far as it has any.
    #[must_use]
    pub fn take(folder: &Path) -> Self {
        Self(hold(folder).ok())
    }

    /// Gives it back.
    pub fn release(&mut self) {
        self.0 = None;
    }
}

fn hold(folder: &Path) -> io::Result<File> {
    let mut file = tempfile::tempfile_in(folder)?;
    // A file system that packs its files would keep nothing for zeros.
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        word.to_le_bytes()
    })
    .take(SIZE / 8)
    .flatten()
    .collect();
    file.write_all(&bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{Reserve, SIZE};

    #[test]
    fn it_is_held_without_a_name_and_given_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut reserve = Reserve::take(folder.path());
        let held = reserve.0.as_ref().expect("there is room").metadata().expect("a file").len();
        assert_eq!(held, SIZE as u64);
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
        reserve.release();
        assert!(reserve.0.is_none());
        assert!(Reserve::take(&folder.path().join("none")).0.is_none(), "without room there is nothing to give back");
    }
}
