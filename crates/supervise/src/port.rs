//! Free TCP ports on the loopback address.
//!
//! Between the asking and the program's own bind another process can take a free port; readiness therefore checks whose the listener is. Runs of
//! ours keep out of each other's way: each claims a block of ports for as long as it lives, by an abstract socket that the kernel drops with the
//! process. Such names are of one network namespace, as the ports are, and leave nothing on disk.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// The ports that this process gives out.
static CLAIM: Mutex<Option<Claim>> = Mutex::new(None);

/// Ports below this are known by name to some service or other.
const LOWEST: u16 = 10_240;
/// Fewer ports than this are too few to find a free one among.
const FEWEST: u16 = 1024;
/// Ports that one process claims: no port comes again before as many were given out.
const BLOCK: u16 = 128;
/// From one port to the next, odd so that it goes through the whole block: a program that takes its port and the next ones beside it does not meet
/// its neighbour's.
const STEP: u16 = 37;
/// Where the kernel says which ports it gives to whoever asks for any.
const EPHEMERAL: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// A block of ports of this process.
struct Claim {
    first: u16,
    /// How many were given out.
    given: u16,
    /// Holds the name while the process lives; none where all blocks were claimed by others.
    _name: Option<UnixDatagram>,
}

impl Claim {
    /// The first block, from a random one on, that no other process has; a random one where all are taken.
    fn make(ports: &RangeInclusive<u16>) -> Self {
        let blocks = (ports.end() - ports.start() + 1) / BLOCK;
        // Runs that start at once must not go through the blocks in step; and a run must not begin where one began that is gone and whose programs may be
        // about to bind their port.
        let random = RandomState::new().build_hasher().finish();
        let (start, given) = (u16::try_from(random % u64::from(blocks)).unwrap_or(0), u16::try_from(random >> 48).unwrap_or(0));
        let first = |index: u16| ports.start() + (start + index) % blocks * BLOCK;
        (0..blocks).find_map(|index| Some(Self { first: first(index), given, _name: Some(name(first(index)).ok()?) })).unwrap_or(Self {
            first: first(0),
            given,
            _name: None,
        })
    }

    fn next(&mut self) -> u16 {
        let port = self.first + self.given.wrapping_mul(STEP) % BLOCK;
        self.given = self.given.wrapping_add(1);
        port
    }
}

/// Takes the name of the block that begins at a port.
fn name(first: u16) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(format!("bystander/ports/{first}"))?)
}

/// Whether nobody listens on the port and it can be bound on the loopback address.
///
/// The bind allows an address whose last connections are still closing, as servers do.
#[must_use]
pub fn port_free(port: u16) -> bool {
    crate::listener::sockets(port).is_empty() && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Whether any program can bind the port now, also one that does not allow an address whose last connections are still closing.
fn can_be_bound(port: u16) -> bool {
    let address = std::net::SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let bound = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .and_then(|socket| rustix::net::bind(&socket, &address));
    bound.is_ok() && port_free(port)
}

/// Picks a port that is free now, that no other run of ours gives out, and that this process has not given out lately.
///
/// It is none that the kernel gives to whoever binds or connects without naming one: such a port can be taken by any connection of any program
/// before the program under test has bound it.
///
/// # Errors
/// When none is free.
pub fn pick_free_port() -> io::Result<u16> {
    let mut claim = CLAIM.lock().unwrap_or_else(PoisonError::into_inner);
    let claim = claim.get_or_insert_with(|| Claim::make(&candidates(&std::fs::read_to_string(EPHEMERAL).unwrap_or_default())));
    (0..BLOCK).map(|_| claim.next()).find(|port| can_be_bound(*port)).ok_or_else(|| {
        io::Error::new(io::ErrorKind::AddrNotAvailable, format!("no port is free among {} to {}", claim.first, claim.first + BLOCK - 1))
    })
}

/// The ports above the kernel's own range, else those below it, else all; `range` is the text of [`EPHEMERAL`].
fn candidates(range: &str) -> RangeInclusive<u16> {
    let mut bounds = range.split_whitespace().map(str::parse::<u16>);
    let (Some(Ok(low)), Some(Ok(high))) = (bounds.next(), bounds.next()) else { return LOWEST..=u16::MAX };
    if u16::MAX - high >= FEWEST {
        high + 1..=u16::MAX
    } else if low >= LOWEST + FEWEST {
        LOWEST..=low - 1
    } else {
        LOWEST..=u16::MAX
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::TcpListener;

    use super::{BLOCK, Claim, can_be_bound, candidates, name, pick_free_port, port_free};

    #[test]
    fn picked_ports_differ() {
        let ports: BTreeSet<u16> = (0..50).map(|_| pick_free_port().expect("a port")).collect();
        assert_eq!(ports.len(), 50);
    }

    #[test]
    fn runs_at_once_have_blocks_of_their_own() {
        // Two blocks, the first of them claimed by a process of another run.
        let ports = 2_000..=2_000 + 2 * BLOCK;
        let other = name(2_000).expect("claims a block");
        let mut ours = Claim::make(&ports);
        assert!((0..3 * BLOCK).all(|_| (2_000 + BLOCK..2_000 + 2 * BLOCK).contains(&ours.next())));
        assert!(name(2_000 + BLOCK).is_err(), "a block is claimed once");
        drop(other);
        assert_eq!(Claim::make(&ports).first, 2_000, "what was let go is claimed again");
    }

    #[test]
    fn a_port_whose_last_connection_is_still_closing_is_not_picked() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("binds");
        let port = listener.local_addr().expect("an address").port();
        let client = std::net::TcpStream::connect(("127.0.0.1", port)).expect("connects");
        // Whoever closes first waits: here the server, on its port.
        drop(listener.accept().expect("accepts"));
        drop((client, listener));
        assert!(!can_be_bound(port), "a program that asks for no reuse is refused");
    }

    #[test]
    fn a_block_is_gone_through_whole() {
        let mut claim = Claim { first: 3_000, given: 0, _name: None };
        let given: BTreeSet<u16> = (0..BLOCK).map(|_| claim.next()).collect();
        assert_eq!(given, (3_000..3_000 + BLOCK).collect());
        assert_eq!(claim.next(), 3_000);
    }

    #[test]
    fn ports_that_the_kernel_gives_away_are_left_to_it() {
        assert_eq!(candidates("32768\t60999\n"), 61_000..=65_535);
        assert_eq!(candidates("15000\t65535\n"), 10_240..=14_999);
        for range in ["1024\t65535\n", "", "x y"] {
            assert_eq!(candidates(range), 10_240..=65_535, "{range:?}");
        }
    }

    #[test]
    fn a_port_is_free_until_somebody_listens() {
        let port = pick_free_port().expect("a port");
        assert!(port_free(port));
        let listener = TcpListener::bind(("0.0.0.0", port)).expect("binds");
        assert!(!port_free(port));
        drop(listener);
        assert!(port_free(port));
    }
}
