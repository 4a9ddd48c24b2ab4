//! Bytecode files beside a source: which version of the source each was made from, what an edit left, what it hid.
//!
//! CPython keeps bytecode in `__pycache__/STEM.TAG[.opt-N].pyc` (rarely `STEM.pyc`). The 16 bytes at its start name
//! the source by the second of its modification time and its size, or by a hash (PEP 552); `Stamp` is the former.
//! A cache elsewhere (`PYTHONPYCACHEPREFIX`) is not searched: the fresh time of an edit and the old one after its
//! undo keep the interpreter from using the wrong one. One case is not seen: a process that looked at the original's
//! time right before an edit and read the text right after it writes bytecode that claims to be the original's.

pub(crate) mod recompile;
mod siphash;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::mtime::Stamp;

/// Names the source by its hash.
const HASHED: u32 = 1;
/// The interpreter compares that hash with the source.
const CHECKED: u32 = 2;

/// What a bytecode file says of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The second of its time and its size.
    Stamped(Stamp),
    /// Its hash under a key that is the interpreter's magic number.
    Hashed {
        /// The key.
        magic: u32,
        /// The hash.
        hash: u64,
        /// Whether the interpreter compares it; if not, the bytecode is used whatever the source says.
        checked: bool,
    },
}

/// One version of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version<'b> {
    /// Its stamp.
    pub(crate) stamp: Stamp,
    /// Its bytes.
    pub(crate) bytes: &'b [u8],
}

impl Origin {
    /// Reads what the file says; `None` where it is no bytecode.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let mut header = [0; 16];
        crate::target::open(path).and_then(|mut file| file.read_exact(&mut header)).ok()?;
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        match word(4) {
            0 => Some(Self::Stamped(Stamp { second: word(8), size: word(12) })),
            flags if flags & HASHED != 0 => {
                Some(Self::Hashed { magic: word(0), hash: u64::from(word(8)) | u64::from(word(12)) << 32, checked: flags & CHECKED != 0 })
            }
            _ => None,
        }
    }

    /// Tells whether the bytecode was made from this version.
    pub(crate) fn is(self, version: Version<'_>) -> bool {
        match self {
            Self::Stamped(stamp) => stamp == version.stamp,
            Self::Hashed { magic, hash, .. } => {
                [siphash::ONE_THREE, siphash::TWO_FOUR].iter().any(|&rounds| siphash::hash(rounds, magic.into(), version.bytes) == hash)
            }
        }
    }

    /// Tells whether the interpreter would use the bytecode whatever the source says.
    pub(crate) fn hides_every_source(self) -> bool {
        matches!(self, Self::Hashed { checked: false, .. })
    }
}

/// The folder that an interpreter keeps the bytecode of `source` in; `None` for files that are no Python source.
pub(crate) fn folder(source: &Path) -> Option<PathBuf> {
    let python = source.extension().is_some_and(|kind| kind == "py" || kind == "pyw");
    python.then(|| source.with_file_name("__pycache__"))
}

/// The bytecode files of a source, sorted.
pub(crate) fn files(source: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(folder), Some(stem)) = (folder(source), source.file_stem()) else { return Ok(Vec::new()) };
    let beside = source.with_extension("pyc");
    let mut found: Vec<PathBuf> = beside.is_file().then_some(beside).into_iter().collect();
    match fs::read_dir(&folder) {
        Ok(entries) => {
            for entry in entries {
                let entry = entry?;
                if is_named_after(&entry.file_name(), stem) {
                    found.push(entry.path());
                }
            }
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(error) => return Err(error),
    }
    found.sort();
    Ok(found)
}

/// Tells whether a name is `STEM.TAG.pyc` or `STEM.TAG.opt-N.pyc`.
fn is_named_after(name: &OsStr, stem: &OsStr) -> bool {
    let Some(rest) = name.as_bytes().strip_prefix(stem.as_bytes()).and_then(|rest| rest.strip_prefix(b".")) else { return false };
    let parts: Vec<&[u8]> = rest.split(|&byte| byte == b'.').collect();
    match parts[..] {
        [tag, b"pyc"] => !tag.is_empty(),
        [tag, optimised, b"pyc"] => !tag.is_empty() && optimised.starts_with(b"opt-"),
        _ => false,
    }
}

/// The bytecode files that were made from one of the versions.
pub(crate) fn made_from(source: &Path, versions: &[Version<'_>]) -> io::Result<Vec<PathBuf>> {
    let mut found = files(source)?;
    found.retain(|path| Origin::read(path).is_some_and(|origin| versions.iter().any(|&version| origin.is(version))));
    Ok(found)
}

/// The stamps that bytecode of this source has now.
pub(crate) fn stamps(source: &Path) -> io::Result<Vec<Stamp>> {
    let origins = files(source)?.iter().filter_map(|path| Origin::read(path)).collect::<Vec<_>>();
    Ok(origins.into_iter().filter_map(|origin| if let Origin::Stamped(stamp) = origin { Some(stamp) } else { None }).collect())
}

/// Reads a bytecode file whole, with its metadata.
pub(crate) fn read(path: &Path) -> io::Result<(Vec<u8>, crate::metadata::Metadata)> {
    let file: File = crate::target::open(path)?;
    let metadata = crate::metadata::Metadata::read(&file)?;
    Ok((crate::target::read(file)?, metadata))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;

    use super::{Origin, Version, files, is_named_after, made_from, stamps};
    use crate::mtime::Stamp;

    fn stamped(stamp: Stamp) -> Vec<u8> {
        [&[1, 2, 13, 10, 0, 0, 0, 0][..], &stamp.second.to_le_bytes(), &stamp.size.to_le_bytes(), b"code"].concat()
    }

    #[test]
    fn only_names_of_this_module_count() {
        let is = |name: &str| is_named_after(OsStr::new(name), OsStr::new("mod"));
        assert!(is("mod.cpython-311.pyc") && is("mod.cpython-38.opt-2.pyc"));
        for other in ["mod.other.cpython-311.pyc", "module.cpython-311.pyc", "mod.pyc", "mod.cpython-311.pyc.1", "mod..pyc"] {
            assert!(!is(other), "{other}");
        }
    }

    #[test]
    fn bytecode_is_told_apart_by_stamp() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = folder.path().join("mod.py");
        let cache = folder.path().join("__pycache__");
        assert!(files(&source).expect("no cache is no error").is_empty());
        fs::create_dir(&cache).expect("created");
        let (edited, original) = (Stamp { second: 5, size: 9 }, Stamp { second: 4, size: 9 });
        fs::write(cache.join("mod.a.pyc"), stamped(edited)).expect("written");
        fs::write(cache.join("mod.b.pyc"), stamped(original)).expect("written");
        fs::write(cache.join("mod.c.pyc"), b"short").expect("written");
        let found = made_from(&source, &[Version { stamp: edited, bytes: b"" }]).expect("read");
        assert_eq!(found, [cache.join("mod.a.pyc")]);
        assert_eq!(stamps(&source).expect("read"), [edited, original]);
        assert_eq!(Origin::read(&cache.join("mod.c.pyc")), None);
        assert!(files(&folder.path().join("mod.rs")).expect("no python").is_empty());
    }
}
