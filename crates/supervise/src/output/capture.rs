//! The writing side: pipe to file, with the times, as fast as the program writes.
//!
//! What could not be written is dropped and remembered; the program is never kept waiting for a disk that is full.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bystander_model::ids::TimeNs;
use rustix::fs::OFlags;
use rustix::io::{Errno, ioctl_fionread};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::OutputError;
use super::blot::Blotter;
use super::times::{COARSENESS_NS, Mark, path_of};

/// The largest pipe that the kernel gives to everyone.
const PIPE_BYTES: usize = 1 << 20;
/// How much is read at once.
pub(crate) const CHUNK: usize = 128 << 10;

/// What the reading side may know of a stream.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The pipe, as long as it is read.
    pipe: Weak<OwnedFd>,
    /// Bytes that were read from the pipe.
    taken: u64,
    /// As many of them are in the file, or never will be.
    settled: u64,
    /// Bytes in the file.
    pub(crate) written: u64,
    /// Marks that the reading side has not taken yet.
    pub(crate) marks: VecDeque<Mark>,
    /// When bytes were read last.
    pub(crate) last: Option<TimeNs>,
    /// Nothing will follow.
    pub(crate) ended: bool,
    /// The end of the stream was seen and everything is in the file.
    pub(crate) complete: bool,
}

/// The share that both sides hold.
pub(crate) type Shared = Arc<Mutex<Progress>>;

/// Reads or changes the share; a panic elsewhere does not make its numbers wrong.
pub(crate) fn with<T>(shared: &Shared, look: impl FnOnce(&mut Progress) -> T) -> T {
    look(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Progress {
    /// How many bytes the program has written until this moment: those that were read, and those that wait in the pipe.
    pub(crate) fn come(&self) -> u64 {
        self.taken.saturating_add(self.pipe.upgrade().map_or(0, |pipe| waiting(&pipe)))
    }

    /// Whether as many bytes of the program as that are in the file, or never will be.
    pub(crate) fn has_settled(&self, come: u64) -> bool {
        self.ended || self.settled >= come
    }
}

/// Bytes that wait in a pipe.
fn waiting(pipe: &OwnedFd) -> u64 {
    ioctl_fionread(pipe).unwrap_or(0)
}

/// One stream on its way to its file.
#[derive(Debug)]
pub(crate) struct Capture {
    /// `None` once it has ended. The reading side looks how much waits in it.
    pipe: Option<Arc<OwnedFd>>,
    path: PathBuf,
    /// `None` once writing has failed.
    file: Option<File>,
    times: Option<File>,
    written: u64,
    last: Option<TimeNs>,
    marked: Option<TimeNs>,
    error: Option<OutputError>,
    blotter: Blotter,
    shared: Shared,
}

/// What one attempt to read brought.
#[derive(Debug)]
pub(crate) enum Taken {
    /// This many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The end.
    End,
}

/// Makes a file that its owner alone may read: what a program writes may hold secrets.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

impl Capture {
    /// Makes the files and the pipe, and returns the end that the program writes to. `hidden` becomes stars.
    pub(crate) fn create(path: &Path, hidden: &[Vec<u8>]) -> Result<(Self, OwnedFd), OutputError> {
        let failed = |file: &Path| {
            let file = file.to_owned();
            move |source: io::Error| OutputError { file, offset: 0, source }
        };
        let file = create(path).map_err(failed(path))?;
        let index = path_of(path);
        let times = create(&index).map_err(failed(&index))?;
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from).map_err(failed(path))?;
        // Only this end: the program's must block as any pipe does.
        rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK).map_err(io::Error::from).map_err(failed(path))?;
        // A larger pipe is a courtesy to bursts; a user with many pipes may be refused it.
        let _ = fcntl_setpipe_size(&reader, PIPE_BYTES);
        let reader = Arc::new(reader);
        let shared = Shared::default();
        with(&shared, |progress| progress.pipe = Arc::downgrade(&reader));
        let capture = Self {
            pipe: Some(reader),
            path: path.to_owned(),
            file: Some(file),
            times: Some(times),
            written: 0,
            last: None,
            marked: None,
            error: None,
            blotter: Blotter::new(hidden),
            shared,
        };
        Ok((capture, writer))
    }

    /// The capture of a stream that leads elsewhere: nothing ever comes, and nothing is missing.
    pub(crate) fn of_nothing() -> Self {
        let shared = Shared::default();
        with(&shared, |progress| (progress.ended, progress.complete) = (true, true));
        Self {
            pipe: None,
            path: PathBuf::new(),
            file: None,
            times: None,
            written: 0,
            last: None,
            marked: None,
            error: None,
            blotter: Blotter::new(&[]),
            shared,
        }
    }

    /// The share for the reading side.
    pub(crate) fn shared(&self) -> Shared {
        Arc::clone(&self.shared)
    }

    /// The pipe, until its end.
    pub(crate) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Bytes in the file.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Moves one chunk from the pipe to the file; [`Capture::error`] has what went wrong meanwhile.
    pub(crate) fn take(&mut self, buffer: &mut [u8], now: TimeNs) -> Taken {
        let Some(pipe) = &self.pipe else { return Taken::End };
        // In one step for whoever counts what was taken and what waits.
        let read = with(&self.shared, |progress| {
            let read = rustix::io::read(pipe, &mut *buffer);
            progress.taken += read.map_or(0, |count| count as u64);
            read
        });
        match read {
            Ok(0) => {
                self.end(true);
                Taken::End
            }
            Ok(count) => {
                if self.blotter.is_idle() {
                    self.write(&buffer[..count], now);
                } else {
                    let shown = self.blotter.pass(&buffer[..count]);
                    self.write(&shown, now);
                }
                with(&self.shared, |progress| progress.settled += count as u64);
                Taken::Bytes(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => Taken::Nothing,
            Err(error) => {
                self.fail(self.path.clone(), error.into());
                self.end(false);
                Taken::End
            }
        }
    }

    /// The first error since it was last asked for.
    pub(crate) fn error(&mut self) -> Option<OutputError> {
        self.error.take()
    }

    /// When bytes were read last.
    pub(crate) fn last(&self) -> Option<TimeNs> {
        self.last
    }

    /// Something came on the other stream: what comes next here gets an entry of its own, so that their order can be told.
    pub(crate) fn interrupt(&mut self) {
        self.marked = None;
    }

    /// Bytes that wait in the pipe.
    pub(crate) fn waiting(&self) -> usize {
        self.pipe.as_ref().and_then(|pipe| usize::try_from(waiting(pipe)).ok()).unwrap_or(0)
    }

    /// Gives the stream up: its end was seen, or nobody of the trial is left to write.
    pub(crate) fn end(&mut self, seen: bool) {
        if self.pipe.take().is_some() {
            let held = self.blotter.rest();
            if !held.is_empty() {
                self.write(&held, self.last.unwrap_or(TimeNs(0)));
            }
            let complete = seen && self.file.is_some();
            with(&self.shared, |progress| (progress.ended, progress.complete) = (true, complete));
        }
    }

    fn write(&mut self, bytes: &[u8], now: TimeNs) {
        let now = self.last.map_or(now, |last| last.max(now));
        self.last = Some(now);
        let mark = Mark { offset: self.written, time: now };
        let Some(file) = &mut self.file else {
            with(&self.shared, |progress| progress.last = Some(now));
            return;
        };
        let outcome = write_all(file, bytes, &mut self.written);
        let is_new = self.marked.is_none_or(|marked| now.0.saturating_sub(marked.0) >= COARSENESS_NS);
        let written = self.written;
        with(&self.shared, |progress| {
            progress.written = written;
            progress.last = Some(now);
            if is_new {
                progress.marks.push_back(mark);
            }
        });
        if let Err(source) = outcome {
            self.file = None;
            self.fail(self.path.clone(), source);
        }
        if is_new {
            self.index(mark);
        }
    }

    fn index(&mut self, mark: Mark) {
        self.marked = Some(mark.time);
        let Some(times) = &mut self.times else { return };
        if let Err(source) = times.write_all(&mark.to_bytes()) {
            self.times = None;
            self.fail(path_of(&self.path), source);
        }
    }

    fn fail(&mut self, file: PathBuf, source: io::Error) {
        let offset = self.written;
        self.error.get_or_insert(OutputError { file, offset, source });
    }
}

/// Writes all of `bytes`, counting what got there also when the rest did not.
fn write_all(file: &mut File, bytes: &[u8], written: &mut u64) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                *written += count as u64;
                rest = rest.get(count..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
