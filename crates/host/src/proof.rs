//! Files as they are: hashes and metadata, to be compared later.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use bystander_model::event::FileProof;
use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

/// SHA-256 of a file, in hex.
///
/// # Errors
/// When the file cannot be read, or is no regular file: a pipe would be waited for, and a device has no end.
pub fn sha256(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut file = fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// Bytes as lower-case hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A file's mode, owner, modification time and size, in a form that only serves to be compared.
///
/// # Errors
/// When the file cannot be looked at.
pub fn metadata(path: &Path) -> io::Result<String> {
    let m = fs::metadata(path)?;
    let attributes = xattr::list(path).map(|names| {
        let values = names.map(|name| (name.clone(), xattr::get(path, &name).ok().flatten()));
        values.collect::<std::collections::BTreeMap<_, _>>()
    });
    // A file system without extended attributes has none.
    let attributes = attributes.unwrap_or_default();
    Ok(format!("{:o} {} {} {}.{:09} {} {attributes:?}", m.mode(), m.uid(), m.gid(), m.mtime(), m.mtime_nsec(), m.size()))
}

/// How files stand before a run; remembers their metadata.
#[derive(Debug, Default)]
pub struct Baseline {
    metadata: IndexMap<std::path::PathBuf, String>,
}

impl Baseline {
    /// Looks at a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn take(&mut self, path: &Path) -> io::Result<FileProof> {
        let hash = sha256(path)?;
        self.metadata.insert(path.to_owned(), metadata(path)?);
        Ok(FileProof { file: path.to_owned(), before_sha256: hash.clone(), after_sha256: Some(hash), metadata_same: true })
    }

    /// Compares a file with how it was. A run that was resumed compares with how it stood at the resume, which the resume itself has checked
    /// against the start by content.
    #[must_use]
    pub fn compare(&self, proof: &FileProof) -> FileProof {
        let now = metadata(&proof.file).ok();
        FileProof {
            after_sha256: sha256(&proof.file).ok(),
            metadata_same: now.is_some() && now.as_ref() == self.metadata.get(&proof.file),
            ..proof.clone()
        }
    }
}
