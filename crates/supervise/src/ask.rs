//! A question to the trial's own server: one GET, answered by a process of the tree and by nobody else.
//!
//! Nothing is followed, nothing is sent but the request, and the answer is bounded in size and time: a server under load, or one that streams without
//! end, costs a few seconds at most.

use std::net::{IpAddr, UdpSocket};

use crate::listener::{Holder, holder, holder_of};
use crate::procfs;
use crate::ready::address::{AddressError, HttpTarget};
use crate::ready::http;
use crate::ready::owner::{self, Look};
use crate::user::user;

/// The longest body that is read, in bytes. The metrics of a large engine have about 1 MB.
pub const LONGEST_BODY: u64 = 16 << 20;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The address that was asked.
    pub url: String,
    /// The status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
    /// The process of the tree that listens there.
    pub by: Holder,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It is no address.
    #[error("read the address `{url}`")]
    NotAnAddress {
        /// The address.
        url: String,
        /// The cause.
        #[source]
        source: ureq::http::uri::InvalidUri,
    },
    /// It is no `http://HOST[:PORT]/…`.
    #[error("ask {url}: only http://HOST:PORT/PATH can be asked")]
    NotHttp {
        /// The address.
        url: String,
    },
    /// Its host is not known here.
    #[error("look up the host of {url}")]
    UnknownHost {
        /// The address.
        url: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// Nobody listens there.
    #[error("ask {url}: nobody listens there")]
    Nobody {
        /// The address.
        url: String,
    },
    /// The tree listens on that port at other addresses alone.
    #[error("ask {url}: the trial listens on that port at {} alone", listed(.at))]
    Elsewhere {
        /// The address.
        url: String,
        /// Where it listens.
        at: Vec<std::net::IpAddr>,
    },
    /// Somebody else listens there, or both do.
    #[error("ask {url}: {} listens there, which is not of this trial", who(.by))]
    Foreign {
        /// The address.
        url: String,
        /// Who does.
        by: Box<Holder>,
    },
    /// It is another machine's.
    #[error("tell who answers at {url}: it is no address of this machine")]
    NotHere {
        /// The address.
        url: String,
    },
    /// The answer did not come, or not all of it.
    #[error("get an answer from {url}")]
    Http {
        /// The address.
        url: String,
        /// The cause.
        #[source]
        source: Box<ureq::Error>,
    },
}

fn who(by: &Holder) -> String {
    match (by.pid, &by.command) {
        (Some(pid), Some(command)) => format!("pid {pid} ({command})"),
        (Some(pid), None) => format!("pid {pid}"),
        (None, _) => format!("a process of user {}", user(by.uid)),
    }
}

/// Asks once. `root` is the process above the tree.
pub(crate) fn ask(url: &str, root: u32) -> Result<Answer, AskError> {
    let target = target(url)?;
    let by = own(&target, root)?;
    let agent = http::agent();
    let failed = |source: ureq::Error| AskError::Http { url: url.to_owned(), source: Box::new(source) };
    let mut answer = agent.get(url).header("Connection", "close").call().map_err(failed)?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(LONGEST_BODY).read_to_vec().map_err(failed)?;
    // Whoever answered is still the one who was seen before, or the answer may be another's.
    own(&target, root)?;
    Ok(Answer { url: url.to_owned(), status, body, by })
}

/// Who of the tree takes connections to an address. `root` is the process above the tree.
pub(crate) fn listener(url: &str, root: u32) -> Result<Holder, AskError> {
    let target = target(url)?;
    if !target.addresses.iter().any(|address| is_here(*address)) {
        return Err(AskError::NotHere { url: target.url });
    }
    own(&target, root)
}

/// Whether an address is one of this machine: nothing can be bound to any other.
fn is_here(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Takes an address apart.
fn target(url: &str) -> Result<HttpTarget, AskError> {
    HttpTarget::parse(url).map_err(|error| match error {
        AddressError::NotAnAddress { url, source } => AskError::NotAnAddress { url, source },
        AddressError::NotHttp { url } => AskError::NotHttp { url },
        AddressError::UnknownHost { url, source } => AskError::UnknownHost { url, source },
    })
}

fn listed(at: &[std::net::IpAddr]) -> String {
    at.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// The process of the tree that takes connections to these addresses, where nobody else can.
fn own(target: &HttpTarget, root: u32) -> Result<Holder, AskError> {
    match owner::look(target.port, &target.addresses, root) {
        Look::Own(own) => Ok(own.holder),
        Look::Nobody => Err(AskError::Nobody { url: target.url.clone() }),
        Look::Elsewhere(at) => Err(AskError::Elsewhere { url: target.url.clone(), at }),
        Look::Foreign { socket, .. } => {
            let pid = holder_of(socket.inode, procfs::all_pids());
            Err(AskError::Foreign { url: target.url.clone(), by: Box::new(holder(socket, pid)) })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    use super::{AskError, LONGEST_BODY, ask, listener};

    /// Answers one request with these bytes. It belongs to this process, whose parent is the root of the "tree".
    fn server(answer: Vec<u8>) -> (String, JoinHandle<()>, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let url = format!("http://{}/metrics", listener.local_addr().expect("an address"));
        // The socket must be there to be seen after the answer.
        let kept = listener.try_clone().expect("clones");
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepts");
            let mut asked = [0; 1024];
            let count = stream.read(&mut asked).expect("reads");
            assert!(asked[..count].starts_with(b"GET /metrics HTTP/1.1\r\n"));
            // The other side hangs up when it has had enough.
            let _ = stream.write_all(&answer);
        });
        (url, thread, kept)
    }

    fn root() -> u32 {
        std::os::unix::process::parent_id()
    }

    #[test]
    fn the_whole_answer_comes_with_who_gave_it() {
        let (url, thread, _kept) = server(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nup 1\n".to_vec());
        let answer = ask(&url, root()).expect("answers");
        assert_eq!((answer.status, answer.body.as_slice(), answer.by.pid), (404, &b"up 1\n"[..], Some(std::process::id())));
        thread.join().expect("ends");
    }

    #[test]
    fn a_redirect_is_an_answer_and_is_not_followed() {
        let (url, thread, _kept) = server(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n".to_vec());
        assert_eq!(ask(&url, root()).expect("answers").status, 302);
        thread.join().expect("ends");
    }

    #[test]
    fn a_body_without_end_is_given_up() {
        let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        endless.resize(usize::try_from(LONGEST_BODY).expect("fits") + (1 << 20), b'x');
        let (url, thread, _kept) = server(endless);
        assert!(matches!(ask(&url, root()), Err(AskError::Http { .. })));
        thread.join().expect("ends");
    }

    #[test]
    fn who_listens_is_told_without_a_question() {
        let listening = TcpListener::bind("127.0.0.1:0").expect("binds");
        let url = format!("http://{}/v1", listening.local_addr().expect("an address"));
        assert_eq!(listener(&url, root()).expect("this process").pid, Some(std::process::id()));
        assert!(matches!(listener(&url, std::process::id()), Err(AskError::Foreign { .. })));
        listening.set_nonblocking(true).expect("sets");
        assert!(listening.accept().is_err(), "nobody has connected");
        drop(listening);
        assert!(matches!(listener(&url, root()), Err(AskError::Nobody { .. })));
        // An address for documentation is nobody's.
        assert!(matches!(listener("http://192.0.2.77:8000/", root()), Err(AskError::NotHere { .. })));
    }

    #[test]
    fn a_stranger_is_not_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let address = listener.local_addr().expect("an address");
        // A tree that this process is not in: its own, whose members are its children.
        let told = ask(&format!("http://{address}/"), std::process::id());
        assert!(matches!(&told, Err(AskError::Foreign { by, .. }) if by.pid == Some(std::process::id())), "{told:?}");
        listener.set_nonblocking(true).expect("sets");
        assert!(listener.accept().is_err(), "nobody has connected");
        drop(listener);
        assert!(matches!(ask(&format!("http://{address}/"), root()), Err(AskError::Nobody { .. })));
        assert!(matches!(ask("https://127.0.0.1/", root()), Err(AskError::NotHttp { .. })));
    }
}
