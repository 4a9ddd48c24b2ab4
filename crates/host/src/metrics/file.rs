//! Files that a trial writes, and what of them this trial wrote.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// A longer part of a file is not compared as a whole, only its two ends.
const COMPARED: u64 = LONGEST;

/// What of a file is compared where it is not compared as a whole, at either end, in bytes.
const END: u64 = 64 << 10;

/// What was at a path before the launch.
#[derive(Debug)]
pub(super) struct Before {
    path: PathBuf,
    found: Option<Found>,
}

/// A file that was there.
#[derive(Debug)]
struct Found {
    identity: Identity,
    /// What it held; `None` where that could not be read.
    content: Option<Content>,
}

/// A file in a state: any write to it, and any other file in its place, changes one of these.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
    modified: (i64, i64),
    size: u64,
}

/// What the beginning of a file held, told by a hash.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    length: u64,
    hash: [u8; 32],
    /// Its line ends; `None` where it is too long to be read as a whole.
    lines: Option<u64>,
}

/// What a trial wrote into a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) text: String,
    /// Line ends before it in the file; `None` where nobody has counted them.
    pub(super) lines_before: Option<u64>,
    /// What has to be said of it beside what it says.
    pub(super) note: Option<String>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            size: metadata.size(),
        }
    }

    /// Whether it is the same file, whatever it holds.
    fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl Content {
    /// What the first `length` bytes of a file hold; `None` where there are not as many.
    fn of(file: &File, length: u64) -> io::Result<Option<Self>> {
        let mut hash = Sha256::new();
        let is_whole = length <= COMPARED;
        let (first, last) = if is_whole { (length, length) } else { (END, length - END) };
        let (mut lines, mut buffer) = (0, vec![0; usize::try_from(END).unwrap_or(usize::MAX)]);
        for mut part in [0..first, last..length] {
            while !part.is_empty() {
                let most = usize::try_from(part.end - part.start).map_or(buffer.len(), |left| left.min(buffer.len()));
                let count = file.read_at(&mut buffer[..most], part.start)?;
                if count == 0 {
                    return Ok(None);
                }
                hash.update(&buffer[..count]);
                lines += memchr::memchr_iter(b'\n', &buffer[..count]).count() as u64;
                part.start += count as u64;
            }
        }
        Ok(Some(Self { length, hash: hash.finalize().into(), lines: is_whole.then_some(lines) }))
    }
}

impl Before {
    pub(super) fn look(path: &Path) -> Self {
        let found = path.metadata().ok().map(|metadata| {
            let content = open(path).ok().and_then(|file| Content::of(&file, metadata.size()).ok().flatten());
            Found { identity: Identity::of(&metadata), content }
        });
        Self { path: path.to_owned(), found }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The text that was written since, where something was; else why there is none.
    ///
    /// Of a file that only grew, that is what was added. One that was written anew counts as a whole.
    pub(super) fn written(&self) -> Result<Written, String> {
        let metadata = match self.path.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err("the trial did not write this file".to_owned()),
            Err(error) => return Err(format!("the file cannot be looked at: {error}")),
        };
        let whole = |note: Option<&str>| Ok(Written { text: text(&self.path)?, lines_before: Some(0), note: note.map(str::to_owned) });
        let Some(Found { identity, content }) = &self.found else { return whole(None) };
        let now = Identity::of(&metadata);
        if *identity == now {
            return Err(NOT_WRITTEN.to_owned());
        }
        if !identity.is_same_file(&now) {
            return whole(None);
        }
        if now.size < identity.size {
            return whole(None);
        }
        let file = plain(&self.path)?;
        let Some(content) = content else {
            return Err(
                "the file was there before the launch and could not be read then: what of it this trial wrote cannot be told".to_owned()
            );
        };
        let is_kept = Content::of(&file, content.length).map_err(|error| unreadable(&error))?.as_ref() == Some(content);
        match (is_kept, now.size == identity.size) {
            (false, _) => whole(None),
            // A change of its rights or links alone.
            (true, true) if now.modified == identity.modified => Err(NOT_WRITTEN.to_owned()),
            (true, true) => whole(Some(
                "the file holds what it held before the launch, and was touched since: it was written anew with the same bytes, or not at all",
            )),
            (true, false) => Ok(Written {
                text: rest(file, content.length)?,
                lines_before: content.lines,
                note: (content.length > 0)
                    .then(|| format!("its first {} bytes were there before the launch, and do not count", content.length)),
            }),
        }
    }
}

const NOT_WRITTEN: &str = "the file is the one that was there before the launch: this trial did not write it";

/// Reads a plain file of bearable size; bytes that are not UTF-8 are replaced.
pub(super) fn text(path: &Path) -> Result<String, String> {
    rest(plain(path)?, 0)
}

/// Reads a file from a place on.
fn rest(mut file: File, from: u64) -> Result<String, String> {
    file.seek(SeekFrom::Start(from)).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("the {} is longer than {} MiB", if from == 0 { "file" } else { "part that this trial wrote" }, LONGEST >> 20));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Opens a file that is a plain one.
fn plain(path: &Path) -> Result<File, String> {
    let file = open(path).map_err(|error| unreadable(&error))?;
    if !file.metadata().map_err(|error| unreadable(&error))?.is_file() {
        return Err("this is no plain file".to_owned());
    }
    Ok(file)
}

/// Opens a file. Whoever put a pipe there must not keep the trial waiting.
fn open(path: &Path) -> io::Result<File> {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(nonblocking).open(path)
}

fn unreadable(error: &io::Error) -> String {
    format!("the file cannot be read: {error}")
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;

    use super::{Before, Written};

    fn whole(text: &str) -> Result<Written, String> {
        Ok(Written { text: text.to_owned(), lines_before: Some(0), note: None })
    }

    fn append(path: &std::path::Path, text: &str) {
        let mut file = OpenOptions::new().append(true).open(path).expect("opens");
        file.write_all(text.as_bytes()).expect("appends");
    }

    /// Two writes of one moment may have one time.
    fn written_long_ago(path: &std::path::Path) {
        let old = fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
        OpenOptions::new().write(true).open(path).and_then(|file| file.set_times(old)).expect("sets its time");
    }

    #[test]
    fn only_what_was_written_after_the_launch_counts() {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("out.json");
        let absent = Before::look(&path);
        assert!(absent.written().is_err_and(|why| why.contains("did not write")));
        fs::write(&path, "1").expect("writes");
        assert_eq!(absent.written(), whole("1"));
        let present = Before::look(&path);
        assert!(present.written().is_err_and(|why| why.contains("before the launch")));
        // The same bytes by another file in its place.
        fs::write(world.path().join("new"), "1").expect("writes");
        fs::rename(world.path().join("new"), &path).expect("renames");
        assert_eq!(present.written(), whole("1"));
    }

    #[test]
    fn of_a_file_that_grew_only_the_new_part_counts() {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("bench.log");
        fs::write(&path, "tokens=10\ntokens=11\n").expect("writes");
        let before = Before::look(&path);
        append(&path, "tokens=20\n");
        let written = before.written().expect("it grew");
        assert_eq!((written.text.as_str(), written.lines_before), ("tokens=20\n", Some(2)));
        assert!(written.note.is_some_and(|note| note.contains("20 bytes were there before the launch")));
    }

    #[test]
    fn a_file_that_was_written_anew_counts_as_a_whole() {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("bench.log");
        let again = |old: &str, new: &str| {
            fs::write(&path, old).expect("writes");
            written_long_ago(&path);
            let before = Before::look(&path);
            fs::write(&path, new).expect("writes anew");
            before.written()
        };
        assert_eq!(again("tokens=10\n", "tokens=20\n"), whole("tokens=20\n"), "of the same length");
        assert_eq!(again("tokens=10\n", "t=1\n"), whole("t=1\n"), "shorter");
        assert_eq!(again("tokens=10\n", "tokens=20\ntokens=21\n"), whole("tokens=20\ntokens=21\n"), "longer, with another beginning");
        assert_eq!(again("", "tokens=20\n"), whole("tokens=20\n"), "it was empty");
    }

    #[test]
    fn bytes_that_are_the_same_are_told_to_be_so_and_a_change_of_rights_is_no_write() {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("out.json");
        fs::write(&path, "1").expect("writes");
        written_long_ago(&path);
        let before = Before::look(&path);
        fs::write(&path, "1").expect("writes the same");
        let written = before.written().expect("it may have been written");
        assert!(written.text == "1" && written.note.is_some_and(|note| note.contains("or not at all")));
        let before = Before::look(&path);
        fs::hard_link(&path, world.path().join("link")).expect("links");
        assert!(before.written().is_err_and(|why| why.contains("did not write it")));
    }

    #[test]
    fn of_a_long_file_the_ends_are_compared_and_the_new_part_is_read() {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("bench.log");
        fs::File::create(&path).and_then(|file| file.set_len(super::LONGEST + 10)).expect("makes a long file");
        let before = Before::look(&path);
        append(&path, "tokens=20\n");
        let written = before.written().expect("it grew");
        assert_eq!((written.text.as_str(), written.lines_before), ("tokens=20\n", None));
    }

    #[test]
    fn what_is_no_plain_file_or_too_long_is_refused() {
        let world = tempfile::tempdir().expect("temporary directory");
        let before = |name: &str| Before::look(&world.path().join(name));
        let [pipe, folder, long] = ["pipe", "folder", "long"].map(before);
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe.path(), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).expect("makes a pipe");
        fs::create_dir(folder.path()).expect("makes a folder");
        fs::File::create(long.path()).and_then(|file| file.set_len(super::LONGEST + 1)).expect("makes a long file");
        assert!(pipe.written().is_err_and(|why| why.contains("no plain file")));
        assert!(folder.written().is_err());
        assert!(long.written().is_err_and(|why| why.contains("16 MiB")));
    }
}
