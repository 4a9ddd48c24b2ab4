//! Writes an archive: members are hashed first, then the manifest and they are written, and the file gets its name when it is whole.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write};
use std::path::{Path, PathBuf};

use bystander_model::archive::{ARCHIVE_FORMAT, Manifest, Member};
use bystander_model::ids::RunId;
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::{ArchiveError, EVENTS, MANIFEST, is_plain};
use crate::output::hex;
use crate::record::Store;
use crate::runs::RunRecord;

/// zstd's own default: logs shrink about ten to one at the speed of a disk.
const LEVEL: i32 = 3;

/// Where a member comes from.
#[derive(Debug)]
pub enum Source {
    /// Bytes at hand.
    Bytes(Vec<u8>),
    /// A file. It is packed as long as it is when it is added.
    File(PathBuf),
}

/// An archive that is put together.
#[derive(Debug)]
pub struct Packer {
    manifest: Manifest,
    sources: Vec<Opened>,
}

#[derive(Debug)]
enum Opened {
    Bytes(Vec<u8>),
    File(PathBuf, File),
}

impl Packer {
    /// Begins an archive of a run with its events. `version` is that of the program.
    ///
    /// # Errors
    /// The record cannot be read, or there is no room for a temporary file.
    pub fn begin(store: &Store, run: &RunRecord, version: &str) -> Result<Self, ArchiveError> {
        let manifest = Manifest {
            format: ARCHIVE_FORMAT,
            version: version.to_owned(),
            run: run.id.0.clone(),
            file: run.file.to_string_lossy().into_owned(),
            spec_sha256: run.spec_sha256.clone(),
            created_ns: run.created.0,
            status: run.status.word().to_owned(),
            members: Vec::new(),
            left_out: Vec::new(),
        };
        let mut packer = Self { manifest, sources: Vec::new() };
        let events = events(store, &run.id)?;
        packer.push(EVENTS, Opened::File(std::env::temp_dir(), events))?;
        Ok(packer)
    }

    /// Adds a member; a name that an archive cannot hold is told as left out.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn add(&mut self, name: &str, source: Source) -> Result<(), ArchiveError> {
        if !is_plain(name) || self.manifest.members.iter().any(|member| member.name == name) {
            self.leave_out(format!("{name:?}: its name has no place in an archive"));
            return Ok(());
        }
        let opened = match source {
            Source::Bytes(bytes) => Opened::Bytes(bytes),
            Source::File(path) => {
                let file = File::open(&path).map_err(|source| ArchiveError::Io { path: path.clone(), source })?;
                Opened::File(path, file)
            }
        };
        self.push(name, opened)
    }

    /// Adds a file that was recorded with its hash; one that is not as it was then is told as left out, since nobody knows what is in it now.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn add_recorded(&mut self, name: &str, path: &Path, sha256: &str) -> Result<(), ArchiveError> {
        self.add(name, Source::File(path.to_owned()))?;
        if self.manifest.members.last().is_some_and(|member| member.name == name && member.sha256 != sha256) {
            self.manifest.members.pop();
            self.sources.pop();
            self.leave_out(format!("{name}: its file was changed since it was recorded"));
        }
        Ok(())
    }

    /// Tells what is not in the archive although it belongs to the run.
    pub fn leave_out(&mut self, what: String) {
        self.manifest.left_out.push(what);
    }

    fn push(&mut self, name: &str, mut source: Opened) -> Result<(), ArchiveError> {
        let (bytes, sha256) = source.measure()?;
        self.manifest.members.push(Member { name: name.to_owned(), bytes, sha256 });
        self.sources.push(source);
        Ok(())
    }

    /// Writes the archive to a new file, whole or not at all, and gives its manifest.
    ///
    /// # Errors
    /// There is a file of that name, the disk is full, or a member changed meanwhile.
    pub fn write(self, to: &Path) -> Result<Manifest, ArchiveError> {
        let io = |source| ArchiveError::Io { path: to.to_owned(), source };
        if to.symlink_metadata().is_ok() {
            return Err(ArchiveError::Exists { path: to.to_owned() });
        }
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let unfinished = crate::state::unfinished(folder, 0o600).map_err(io)?;
        let manifest = self.fill(unfinished.as_file(), to)?;
        unfinished.as_file().sync_all().map_err(io)?;
        match unfinished.persist_noclobber(to) {
            Ok(_) => Ok(manifest),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(ArchiveError::Exists { path: to.to_owned() }),
            Err(error) => Err(io(error.error)),
        }
    }

    fn fill(self, file: &File, to: &Path) -> Result<Manifest, ArchiveError> {
        let io = |source| ArchiveError::Io { path: to.to_owned(), source };
        let Self { manifest, sources } = self;
        let text =
            serde_json::to_vec_pretty(&manifest).map_err(|source| ArchiveError::Unwritable { member: MANIFEST.to_owned(), source })?;
        let encoder = zstd::Encoder::new(BufWriter::new(file), LEVEL).map_err(io)?;
        let mut tar = Builder::new(encoder);
        let head = |name: &str, bytes: u64| header(&manifest, name, bytes).map_err(io);
        tar.append(&head(MANIFEST, text.len() as u64)?, text.as_slice()).map_err(io)?;
        for (member, source) in manifest.members.iter().zip(sources) {
            let mut header = head(&member.name, member.bytes)?;
            source.append(&mut tar, &mut header, member)?;
        }
        let encoder = tar.into_inner().map_err(io)?;
        encoder.finish().and_then(|mut buffer| buffer.flush()).map_err(io)?;
        Ok(manifest)
    }
}

/// The head of a member: nothing of this machine or of this day is in it.
fn header(manifest: &Manifest, name: &str, bytes: u64) -> io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(format!("{}/{name}", manifest.run))?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(manifest.created_ns / 1_000_000_000);
    header.set_cksum();
    Ok(header)
}

impl Opened {
    /// Length and hash.
    fn measure(&mut self) -> Result<(u64, String), ArchiveError> {
        match self {
            Opened::Bytes(bytes) => Ok((bytes.len() as u64, hex(&Sha256::digest(bytes)))),
            Opened::File(path, file) => {
                let mut hash = Sha256::new();
                let bytes = io::copy(file, &mut HashWriter(&mut hash)).map_err(|source| ArchiveError::Io { path: path.clone(), source })?;
                Ok((bytes, hex(&hash.finalize())))
            }
        }
    }

    /// Writes the member; a file that is not as it was measured is an error, since the manifest would lie.
    fn append(self, tar: &mut Builder<impl Write>, header: &mut Header, member: &Member) -> Result<(), ArchiveError> {
        match self {
            Opened::Bytes(bytes) => {
                let io = |source| ArchiveError::Io { path: PathBuf::from(&member.name), source };
                tar.append(header, bytes.as_slice()).map_err(io)
            }
            Opened::File(path, mut file) => {
                let io = |source| ArchiveError::Io { path: path.clone(), source };
                file.rewind().map_err(io)?;
                let mut hash = Sha256::new();
                let reader = HashReader { from: file.take(member.bytes), hash: &mut hash };
                tar.append(header, reader).map_err(io)?;
                let found = hex(&hash.finalize());
                if found == member.sha256 {
                    return Ok(());
                }
                Err(ArchiveError::Changed { path, member: member.name.clone(), found, packed: member.sha256.clone() })
            }
        }
    }
}

/// Every event, one a line, in a file without a name.
fn events(store: &Store, run: &RunId) -> Result<File, ArchiveError> {
    let io = |source| ArchiveError::Io { path: std::env::temp_dir(), source };
    let mut file = BufWriter::new(tempfile::tempfile().map_err(io)?);
    for event in store.events(run)? {
        let line = serde_json::to_vec(&event?).map_err(|source| ArchiveError::Unwritable { member: EVENTS.to_owned(), source })?;
        file.write_all(&line).and_then(|()| file.write_all(b"\n")).map_err(io)?;
    }
    let mut file = file.into_inner().map_err(|error| io(error.into_error()))?;
    file.rewind().map_err(io)?;
    Ok(file)
}

/// Reads the lines of an archive's events; the reader's own limits hold.
pub(super) fn lines(reader: impl io::Read) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    let mut reader = BufReader::new(reader);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        let most = super::limits::EVENT + 1;
        match (&mut reader).take(most).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(read) if read as u64 == most => Some(Err(io::Error::new(io::ErrorKind::InvalidData, "an event is too long"))),
            Ok(_) => Some(Ok(line)),
            Err(error) => Some(Err(error)),
        }
    })
}

/// Hashes what is written to it.
struct HashWriter<'a>(&'a mut Sha256);

impl Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hashes what is read through it.
pub(super) struct HashReader<'a, R> {
    pub(super) from: R,
    pub(super) hash: &'a mut Sha256,
}

impl<R: io::Read> io::Read for HashReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}
