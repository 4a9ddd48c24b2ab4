//! What a keeper and its near side say to each other: JSON messages, each behind its length, on a socket pair.
//!
//! The end of the near side's stream is itself a message: clear everything up and go.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, send, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exit::{ExitStatus, Usage};
use crate::namespace::{Bind, Namespace, OverlayDir, Step};

/// A longer message is no message of ours.
const LONGEST: usize = 64 << 20;

/// Orders to the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Starts the program; the first order, and given once.
    Start(Box<Start>),
    /// A signal now, SIGKILL after the grace, until nothing is left.
    Terminate {
        /// How long the tree may take to end on its own.
        grace: Duration,
        /// The signal: SIGTERM goes to the whole tree, any other to the program's process group, as from a terminal.
        signal: i32,
    },
}

/// What to start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) file: Bytes,
    pub(crate) argv: Vec<Bytes>,
    pub(crate) env: Vec<(Bytes, Bytes)>,
    pub(crate) cwd: Bytes,
    pub(crate) remove_on_exit: Vec<Bytes>,
    pub(crate) namespace: Option<Mounts>,
}

/// The private mounts of the program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mounts {
    /// Sources, targets, and whether they may be written.
    pub(crate) binds: Vec<(Bytes, Bytes, bool)>,
    /// Layers and targets.
    pub(crate) layers: Vec<(Bytes, Bytes)>,
    pub(crate) scratch: Option<Bytes>,
}

/// Reports of the keeper. Times are of the monotonic clock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The program runs.
    Started { pid: u32, start_time: u64, at_ns: u64 },
    /// The program could not be started: the error number of the system call that refused, and what it was, if it was one of those
    /// that make the private mounts.
    NotStarted { errno: i32, step: Option<(Step, Option<Bytes>)> },
    /// The program itself has ended.
    Exited { status: ExitStatus, usage: Usage, at_ns: u64 },
    /// No process of the tree is left.
    TreeEmpty { usage: Usage, kills: u32, at_ns: u64 },
}

/// Bytes as a JSON string, one character a byte: names and environments need not be UTF-8, and mostly are ASCII.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl From<&OsStr> for Bytes {
    fn from(text: &OsStr) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<Bytes> for OsString {
    fn from(bytes: Bytes) -> Self {
        OsString::from_vec(bytes.0)
    }
}

impl From<Bytes> for PathBuf {
    fn from(bytes: Bytes) -> Self {
        PathBuf::from(OsString::from(bytes))
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        bytes.0.into_iter().map(char::from).collect()
    }
}

impl TryFrom<String> for Bytes {
    type Error = std::char::TryFromCharError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.chars().map(u8::try_from).collect::<Result<_, _>>().map(Self)
    }
}

impl From<&Namespace> for Mounts {
    fn from(namespace: &Namespace) -> Self {
        let pair = |one: &Path, other: &Path| (one.as_os_str().into(), other.as_os_str().into());
        Self {
            binds: namespace
                .binds
                .iter()
                .map(|bind| (bind.source.as_os_str().into(), bind.target.as_os_str().into(), bind.writable))
                .collect(),
            layers: namespace.layers.iter().map(|layer| pair(&layer.layer, &layer.target)).collect(),
            scratch: namespace.scratch.as_ref().map(|scratch| scratch.as_os_str().into()),
        }
    }
}

impl From<Mounts> for Namespace {
    fn from(mounts: Mounts) -> Self {
        Self {
            binds: mounts
                .binds
                .into_iter()
                .map(|(source, target, writable)| Bind { source: source.into(), target: target.into(), writable })
                .collect(),
            layers: mounts.layers.into_iter().map(|(layer, target)| OverlayDir { layer: layer.into(), target: target.into() }).collect(),
            scratch: mounts.scratch.map(PathBuf::from),
        }
    }
}

/// Sends one message, waiting for room; a peer that is gone is an error, never a signal.
pub(crate) fn post(socket: impl AsFd, message: &impl Serialize) -> io::Result<()> {
    post_with(socket, message, None)
}

/// Sends one message as [`post`] does, and a descriptor with it.
pub(crate) fn post_with(socket: impl AsFd, message: &impl Serialize, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(|source| io::Error::new(io::ErrorKind::InvalidInput, source))?;
    let mut frame = length.to_le_bytes().to_vec();
    frame.extend_from_slice(&body);
    let mut rest = frame.as_slice();
    if let Some(descriptor) = descriptor {
        // With the first byte, so that it is there when the message is.
        rest = &rest[send_descriptor(&socket, &rest[..1], descriptor)?..];
    }
    while !rest.is_empty() {
        match send(&socket, rest, SendFlags::NOSIGNAL) {
            Ok(sent) => rest = &rest[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sends bytes with a descriptor; gives how many were sent.
fn send_descriptor(socket: impl AsFd, bytes: &[u8], descriptor: BorrowedFd<'_>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    loop {
        match sendmsg(&socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
            Ok(sent) => return Ok(sent),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// What has arrived of a stream of messages.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Descriptors that came with them, closed on exec.
    pub(crate) descriptors: Vec<OwnedFd>,
    /// The peer has closed its side.
    pub(crate) ended: bool,
}

impl Inbox {
    /// Takes in what has arrived, without waiting.
    pub(crate) fn fill(&mut self, socket: impl AsFd) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        while !self.ended {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
            let received = recvmsg(&socket, &mut [IoSliceMut::new(&mut buffer)], &mut ancillary, flags).map(|message| message.bytes);
            let descriptors = ancillary.drain().filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            });
            self.descriptors.extend(descriptors.flatten());
            match received {
                Ok(0) | Err(Errno::CONNRESET) => self.ended = true,
                Ok(taken) => self.bytes.extend_from_slice(&buffer[..taken]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes the next whole message.
    pub(crate) fn take<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        let Some((head, rest)) = self.bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*head)).unwrap_or(usize::MAX);
        if length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the length of a message is absurd"));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.bytes.drain(..4 + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{Bytes, Inbox, Order, post};

    #[test]
    fn bytes_of_any_sort_survive() {
        let all = Bytes((0..=255).collect());
        let text = serde_json::to_string(&all).expect("serialises");
        assert_eq!(serde_json::from_str::<Bytes>(&text).expect("parses"), all);
        assert!(serde_json::from_str::<Bytes>("\"\u{20ac}\"").is_err());
    }

    #[test]
    fn messages_arrive_one_by_one_and_the_end_is_seen() {
        let (near, far) = UnixStream::pair().expect("socket pair");
        let mut inbox = Inbox::default();
        for seconds in [1, 2] {
            post(&near, &Order::Terminate { grace: Duration::from_secs(seconds), signal: 15 }).expect("sends");
        }
        inbox.fill(&far).expect("reads");
        for seconds in [1, 2] {
            let order: Option<Order> = inbox.take().expect("parses");
            assert!(matches!(order, Some(Order::Terminate { grace, signal: 15 }) if grace.as_secs() == seconds), "{order:?}");
        }
        assert!(inbox.take::<Order>().expect("parses").is_none() && !inbox.ended);
        drop(near);
        inbox.fill(&far).expect("reads");
        assert!(inbox.ended);
    }

    #[test]
    fn an_absurd_length_is_refused() {
        let mut inbox = Inbox { bytes: vec![0xff; 8], ..Inbox::default() };
        assert!(inbox.take::<Order>().is_err());
    }
}
