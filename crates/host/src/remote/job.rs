//! A command at the far end, as it lies on the disk there.
//!
//! | file in `jobs/NAME/` | what it holds |
//! |---|---|
//! | `start.json` | what was asked, and the words with the paths of its files |
//! | `files/N/NAME` | files that came with it |
//! | `warden` | the pid of its warden, which holds a lock on the file as long as it lives |
//! | `lease` | its time of modification is renewed while a near end is there |
//! | `output` | what it printed: records of a stream (1 byte), a length (4 bytes, least significant first) and so many bytes |
//! | `lease-length` | its lease in seconds; `lease-over` once that has ended it |
//! | `end` | how it ended; its room is taken at the start, so that a full disk cannot keep it from being told |

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use rustix::fs::{FallocateFlags, FlockOperation};
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};

use super::OWN;
use super::message::{JobEnd, Screen, Standing, Start, Word};
use super::warden;

/// Bytes that `end` has from the start.
const END_ROOM: u64 = 4096;
/// The file with the length of its lease, and its name once that is over.
const LEASE_LENGTH: &str = "lease-length";
const LEASE_OVER: &str = "lease-over";
/// What a warden writes once it has its lock.
pub(super) const READY: &[u8] = b"ready\n";

/// A stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Its standard output.
    Out,
    /// Its standard error.
    Err,
}

/// What the warden is to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) words: Vec<Vec<u8>>,
    pub(super) folder: Vec<u8>,
    pub(super) screen: Screen,
    pub(super) lease_s: u64,
    /// Whether a near end that was killed comes back for it.
    pub(super) taken_up: bool,
}

/// The folder of a command.
#[derive(Debug, Clone)]
pub struct Job {
    folder: PathBuf,
}

impl Job {
    /// The command of a name in a state directory; it need not be there.
    ///
    /// # Errors
    /// The name is none.
    pub fn named(state: &Path, name: &str) -> io::Result<Self> {
        if is_name(name) { Ok(Self { folder: folder(state).join(name) }) } else { Err(invalid("the name of a command")) }
    }

    /// The command of a folder.
    pub(super) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Starts a command under a warden, unless one of this name was started.
    ///
    /// # Errors
    /// There is no room for it, or the system starts no process.
    pub fn start(&self, start: &Start, body: &[u8], home: &Path) -> io::Result<()> {
        if self.was_started() {
            return Ok(());
        }
        // What an agent left that was killed before its warden was there.
        self.forget()?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let made = self.prepare(start, body, home).and_then(|()| self.launch());
        if made.is_err() {
            // Nothing was started: what was written of it is of no use.
            let _gone = self.forget();
        }
        made
    }

    fn prepare(&self, start: &Start, body: &[u8], home: &Path) -> io::Result<()> {
        let mut rest = body;
        let words = start.words.iter().enumerate().map(|(number, word)| match word {
            Word::Bytes(bytes) => Ok(bytes.clone()),
            Word::File { length, name } => {
                let (bytes, after) = rest.split_at_checked(*length).ok_or_else(|| invalid("a message without its files"))?;
                rest = after;
                self.keep(number, name, bytes).map(|path| path.into_os_string().into_vec())
            }
        });
        let words: Vec<Vec<u8>> = words.collect::<io::Result<_>>()?;
        let folder = start.folder.as_deref().map_or_else(|| home.to_owned(), |folder| home.join(super::message::path(folder)));
        let order = Order {
            words,
            folder: folder.into_os_string().into_vec(),
            screen: start.screen.clone(),
            lease_s: start.lease_s,
            taken_up: start.taken_up,
        };
        fs::write(self.path("start.json"), serde_json::to_vec(&order)?)?;
        fs::write(self.path("lease"), "")?;
        fs::write(self.path(LEASE_LENGTH), start.lease_s.to_string())?;
        fs::write(self.path("output"), "")?;
        let end = new_file(&self.path("end"))?;
        match rustix::fs::fallocate(&end, FallocateFlags::empty(), 0, END_ROOM) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP) => end.write_all_at(&[0; END_ROOM as usize], 0),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Writes a file that came with the command; its name is kept, since messages show it.
    fn keep(&self, number: usize, name: &[u8], bytes: &[u8]) -> io::Result<PathBuf> {
        let folder = self.path("files").join(number.to_string());
        fs::create_dir_all(&folder)?;
        let name = Path::new(std::ffi::OsStr::from_bytes(name)).file_name().unwrap_or("file".as_ref()).to_owned();
        let path = folder.join(name);
        new_file(&path)?.write_all(bytes)?;
        Ok(path)
    }

    /// Starts the warden, and waits until it has taken the command over.
    fn launch(&self) -> io::Result<()> {
        let mut child = Command::new(OWN)
            .arg(warden::ARGUMENT)
            .arg(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .current_dir("/")
            .spawn()?;
        let mut said = Vec::new();
        if let Some(out) = child.stdout.take() {
            out.take(READY.len() as u64).read_to_end(&mut said)?;
        }
        if said == READY {
            // It lives longer than this process; a thread takes its end where it does not.
            std::thread::spawn(move || child.wait());
            return Ok(());
        }
        let status = child.wait()?;
        if self.was_started() { Ok(()) } else { Err(io::Error::other(format!("its warden ended at once ({status})"))) }
    }

    /// Whether a warden has, or had, this command.
    fn was_started(&self) -> bool {
        self.path("warden").exists()
    }

    /// Takes the command for this process, for as long as the file that is returned is open; `None` where another one has it.
    pub(super) fn take(&self) -> io::Result<Option<File>> {
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(self.path("warden"))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
        if file.metadata()?.len() > 0 {
            return Ok(None);
        }
        file.write_all(std::process::id().to_string().as_bytes())?;
        Ok(Some(file))
    }

    pub(super) fn order(&self) -> io::Result<Order> {
        Ok(serde_json::from_slice(&fs::read(self.path("start.json"))?)?)
    }

    /// Its output, to be added to.
    pub(super) fn output_to_write(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(self.path("output"))
    }

    /// Its output.
    pub(super) fn output(&self) -> io::Result<File> {
        File::open(self.path("output"))
    }

    /// Writes how it ended into the room that was kept for it.
    pub(super) fn write_end(&self, end: &JobEnd) -> io::Result<()> {
        let mut text = serde_json::to_vec(end)?;
        text.push(b'\n');
        let file = OpenOptions::new().write(true).open(self.path("end"))?;
        file.write_all_at(&text, 0)?;
        file.sync_data()
    }

    /// How it stands; `None` where there is none of this name.
    ///
    /// # Errors
    /// Its files cannot be read.
    pub fn standing(&self) -> io::Result<Option<Standing>> {
        if !self.was_started() {
            return Ok(None);
        }
        // First whether it lives, then its end: in between it may end, but not begin again.
        let lives = self.is_held()?;
        let bytes = fs::read(self.path("end"))?;
        let text = bytes.split(|byte| *byte == b'\n').next().filter(|text| text.starts_with(b"{") && bytes.contains(&b'\n'));
        let ended = text.and_then(|text| serde_json::from_slice(text).ok());
        Ok(Some(match ended {
            Some(end) => Standing::Ended(end),
            None if lives => Standing::Running,
            None => Standing::Lost,
        }))
    }

    /// Whether a warden lives.
    fn is_held(&self) -> io::Result<bool> {
        let file = File::open(self.path("warden"))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sends a signal, by its number, to the command, and gives whether there was one to get it.
    ///
    /// # Errors
    /// The signal is none, or the system refuses.
    pub fn signal(&self, number: i32) -> io::Result<bool> {
        let signal = Signal::from_named_raw(number).ok_or_else(|| invalid("a signal"))?;
        if !self.was_started() {
            return Ok(false);
        }
        let text = fs::read_to_string(self.path("warden"))?;
        let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw) else { return Ok(false) };
        let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return Ok(false) };
        // The lock is held after the process was found: so it is the warden, and no later process of its number.
        let is_there = self.is_held()?;
        if is_there {
            rustix::process::pidfd_send_signal(&process, signal)?;
        }
        Ok(is_there)
    }

    /// Says that a near end is there.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn renew(&self) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.path("lease"))?.set_modified(SystemTime::now())
    }

    /// When a near end was there for the last time.
    pub(super) fn renewed(&self) -> io::Result<SystemTime> {
        fs::metadata(self.path("lease"))?.modified()
    }

    /// Notes that its lease is over, before it is told to end: what it says of its end is by that.
    pub(super) fn note_lease_over(&self) -> io::Result<()> {
        // A name, and no bytes: there is room for it on a full disk too.
        fs::rename(self.path(LEASE_LENGTH), self.path(LEASE_OVER))
    }

    /// The file that says that its lease is over, and how long that was.
    pub(super) fn lease_over(&self) -> PathBuf {
        self.path(LEASE_OVER)
    }

    /// The state directory that it belongs to.
    pub(super) fn state(&self) -> Option<&Path> {
        self.folder.parent()?.parent()
    }

    /// Removes everything of it; a command that runs is left alone.
    ///
    /// # Errors
    /// The command runs, or the files cannot be removed.
    pub fn forget(&self) -> io::Result<()> {
        if self.standing()? == Some(Standing::Running) {
            return Err(io::Error::other("it is still running"));
        }
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Writes a record of output.
pub(super) fn write_record(to: &mut impl Write, stream: Stream, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| invalid("a record"))?;
    let mut record = Vec::with_capacity(5 + bytes.len());
    record.push(if stream == Stream::Out { 1 } else { 2 });
    record.extend(length.to_le_bytes());
    record.extend(bytes);
    to.write_all(&record)
}

/// Takes the first record off some bytes: the stream, its bytes, and how long it is in all; `None` where it has not arrived as a whole.
///
/// # Errors
/// There is no record.
pub fn record(bytes: &[u8]) -> io::Result<Option<(Stream, &[u8], usize)>> {
    let Some((head, rest)) = bytes.split_at_checked(5) else { return Ok(None) };
    let stream = match head[0] {
        1 => Stream::Out,
        2 => Stream::Err,
        _ => return Err(invalid("output")),
    };
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    Ok(rest.get(..length).map(|bytes| (stream, bytes, 5 + length)))
}

/// The words of an order, as a command line takes them.
pub(super) fn words(order: &Order) -> Vec<OsString> {
    order.words.iter().map(|word| OsString::from_vec(word.clone())).collect()
}

/// Where the commands of a near end lie.
pub(super) fn folder(state: &Path) -> PathBuf {
    state.join("jobs")
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("this is not {what}"))
}

#[cfg(test)]
mod tests {
    use super::{Job, Stream, record, write_record};

    #[test]
    fn records_are_read_as_they_arrive() {
        let mut bytes = Vec::new();
        write_record(&mut bytes, Stream::Err, b"one\n").expect("written");
        write_record(&mut bytes, Stream::Out, &[0xff, 0]).expect("written");
        for length in 0..9 {
            assert!(record(&bytes[..length]).expect("no fault").is_none(), "{length}");
        }
        let (stream, text, length) = record(&bytes).expect("no fault").expect("a record");
        assert_eq!((stream, text, length), (Stream::Err, &b"one\n"[..], 9));
        assert_eq!(record(&bytes[9..]).expect("no fault").expect("a record"), (Stream::Out, &[0xff, 0][..], 7));
        assert!(record(&[7, 0, 0, 0, 0]).is_err());
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let state = std::path::Path::new("/state");
        for name in ["", ".", "..", "a/b", "A", "a b", &"x".repeat(65)] {
            assert!(Job::named(state, name).is_err(), "{name}");
        }
        assert!(Job::named(state, "run-1a").is_ok());
    }
}
