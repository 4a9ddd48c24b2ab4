//! The program's own word that it is ready: a datagram socket that speaks the protocol of `sd_notify`.
//!
//! A message counts when the kernel says that it comes from a process of the tree. A helper that has ended before it is looked at cannot be told from
//! a stranger; `systemd-notify` waits for that by its barrier, which is honoured.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bystander_model::ids::TimeNs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::proof::Notified;
use crate::clock::Clock;
use crate::procfs;

/// The variable that tells a program where its word is heard.
pub(crate) const VARIABLE: &str = "NOTIFY_SOCKET";

/// A longer message is not read whole, which the protocol allows.
const MESSAGE_BYTES: usize = 4096;
/// The longest path that fits into the kernel's address of a socket, its final zero apart.
const PATH_BYTES: usize = 107;
/// Between two looks whether the trial is over.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// The longest status that is kept, in characters.
const STATUS_CHARS: usize = 300;

/// A socket that a program can be told of.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: UnixDatagram,
    /// As it stands in the environment.
    pub(crate) name: String,
    /// The file, where it has one: to be removed.
    pub(crate) path: Option<PathBuf>,
}

impl Socket {
    /// Makes a socket at a path, which most clients understand, or else without one, where the path is too long or its disk has no sockets.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let text = path.to_str().filter(|text| text.len() <= PATH_BYTES);
        let at_path = text.and_then(|text| {
            // A leftover of the same trial under the same name, which nobody listens at.
            let _ = std::fs::remove_file(path);
            Some((UnixDatagram::bind(path).ok()?, text.to_owned(), Some(path.to_owned())))
        });
        let (socket, name, path) = match at_path {
            Some(bound) => bound,
            None => {
                let (socket, name) = bind_abstract()?;
                (socket, name, None)
            }
        };
        rustix::net::sockopt::set_socket_passcred(&socket, true)?;
        Ok(Self { socket, name, path })
    }
}

/// Makes a socket whose name nobody can guess, and that goes away with it.
fn bind_abstract() -> io::Result<(UnixDatagram, String)> {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let name = format!("bystander/{}/{:016x}/notify", std::process::id(), RandomState::new().build_hasher().finish());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    Ok((socket, format!("@{name}")))
}

/// What the program has said so far; shared with whoever wants to know.
#[derive(Debug, Clone, Default)]
pub(crate) struct Word(Arc<Mutex<Said>>);

#[derive(Debug, Default)]
struct Said {
    ready: Option<(TimeNs, u32)>,
    status: Option<String>,
    /// Why it does not count, where it was ready and is not, or where somebody else said so.
    but: Option<String>,
}

impl Word {
    /// Its word that it is ready; else why that is not so.
    pub(crate) fn look(&self) -> Result<Notified, String> {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((time_ns, pid)) = said.ready {
            return Ok(Notified { time_ns, pid, status: said.status.clone() });
        }
        let why = said.but.clone().unwrap_or_else(|| "the program has not said READY=1".to_owned());
        Err(said.status.as_ref().map_or_else(|| why.clone(), |status| format!("{why}; its status is: {status}")))
    }

    fn take(&self, message: &[u8], sender: Option<u32>, keeper: u32, now: TimeNs) {
        let text = String::from_utf8_lossy(message);
        let is_own = sender.is_some_and(|pid| pid != keeper && procfs::descends_from(pid, keeper));
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pid) = sender.filter(|_| is_own) else {
            if text.lines().any(|line| line == "READY=1") {
                said.but = Some(match sender {
                    Some(pid) if procfs::stat(pid).is_none() => {
                        format!("READY=1 came from process {pid}, which had ended before it could be seen whose it was")
                    }
                    Some(pid) => format!("READY=1 came from process {pid}, which is not of this trial"),
                    None => "READY=1 came from a process that the kernel does not name".to_owned(),
                });
            }
            return;
        };
        for line in text.lines() {
            match line.split_once('=') {
                Some(("READY", "1")) => {
                    said.but = None;
                    said.ready.get_or_insert((now, pid));
                }
                Some(("STOPPING" | "RELOADING", "1")) => {
                    said.ready = None;
                    said.but = Some(format!("the program said {line}"));
                }
                Some(("STATUS", status)) => said.status = Some(status.trim().chars().take(STATUS_CHARS).collect()),
                _ => {}
            }
        }
    }
}

/// Listens until the trial is over. What is handed over with a message is closed, which is what a barrier waits for.
pub(crate) fn listen(socket: &Socket, word: &Word, keeper: u32, clock: Clock, is_over: impl Fn() -> bool) {
    let mut buffer = vec![0; MESSAGE_BYTES];
    while !is_over() {
        let mut waited = [PollFd::new(&socket.socket, PollFlags::IN)];
        if matches!(poll(&mut waited, Some(&PAUSE)), Ok(1..))
            && let Ok((length, sender, handed)) = receive(&socket.socket, &mut buffer)
        {
            word.take(&buffer[..length], sender, keeper, clock.now());
            drop(handed);
        }
    }
}

/// One message with its sender by the kernel's account, and what was handed over with it.
fn receive(socket: &UnixDatagram, buffer: &mut [u8]) -> rustix::io::Result<(usize, Option<u32>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16), ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = recvmsg(socket.as_fd(), &mut [IoSliceMut::new(buffer)], &mut control, flags)?;
    let (mut sender, mut handed) = (None, Vec::new());
    for message in control.drain() {
        match message {
            RecvAncillaryMessage::ScmCredentials(credentials) => sender = u32::try_from(credentials.pid.as_raw_nonzero().get()).ok(),
            RecvAncillaryMessage::ScmRights(descriptors) => handed.extend(descriptors),
            _ => {}
        }
    }
    Ok((received.bytes, sender, handed))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bystander_model::ids::TimeNs;

    use super::{Socket, Word};
    use crate::procfs;

    #[test]
    fn a_path_that_is_too_long_gives_way_to_a_name_without_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let short = Socket::bind(&folder.path().join("notify")).expect("binds");
        assert!(short.path.is_some() && Path::new(&short.name).exists());
        let long = Socket::bind(&folder.path().join("n".repeat(120))).expect("binds");
        assert!(long.path.is_none() && long.name.starts_with('@'), "{}", long.name);
        let nowhere = Socket::bind(Path::new("/proc/none/notify")).expect("binds");
        assert!(nowhere.name.starts_with('@'));
    }

    #[test]
    fn a_word_counts_from_the_tree_alone_and_can_be_taken_back() {
        let own = std::process::id();
        let parent = procfs::stat(own).expect("reads itself").ppid;
        let word = Word::default();
        let why = |word: &Word| word.look().expect_err("is not ready");
        assert_eq!(why(&word), "the program has not said READY=1");
        word.take(b"READY=1", Some(parent), own, TimeNs(1));
        assert!(why(&word).contains("which is not of this trial"));
        word.take(b"READY=1", None, own, TimeNs(1));
        assert!(why(&word).contains("does not name"));
        word.take(b"STATUS=loading 3 of 8\nWATCHDOG=1", Some(own), parent, TimeNs(2));
        assert!(why(&word).ends_with("its status is: loading 3 of 8"));
        word.take(b"MAINPID=1\nREADY=1\nSTATUS=serving\n", Some(own), parent, TimeNs(3));
        let said = word.look().expect("is ready");
        assert_eq!((said.time_ns, said.pid, said.status.as_deref()), (TimeNs(3), own, Some("serving")));
        word.take(b"STOPPING=1", Some(own), parent, TimeNs(4));
        assert!(why(&word).contains("the program said STOPPING=1"));
    }
}
