//! Free TCP ports on the loopback address.
//!
//! A free port is not reserved: between the asking and the program's own bind another process can take it. Readiness therefore
//! checks whose the listener is.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

/// Ports that were given out by this process.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Ports below this are known by name to some service or other.
const LOWEST: u16 = 10_240;
/// Fewer ports than this are too few to find a free one among.
const FEWEST: u16 = 1024;
/// Where the kernel says which ports it gives to whoever asks for any.
const EPHEMERAL: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Whether nobody listens on the port and it can be bound on the loopback address.
///
/// The bind allows an address whose last connections are still closing, as servers do.
#[must_use]
pub fn port_free(port: u16) -> bool {
    crate::listener::sockets(port).is_empty() && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Picks a port that is free now and that this process has not given out before.
///
/// It is none that the kernel gives to whoever binds or connects without naming one: such a port can be taken by any connection of any program
/// before the program under test has bound it.
///
/// # Errors
/// When none is free.
pub fn pick_free_port() -> io::Result<u16> {
    let ports = candidates(&std::fs::read_to_string(EPHEMERAL).unwrap_or_default());
    let count = usize::from(ports.end() - ports.start()) + 1;
    // Runs that start at once must not go through the ports in step.
    let start = usize::try_from(RandomState::new().build_hasher().finish() % count as u64).unwrap_or(0);
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    ports
        .clone()
        .chain(ports)
        .skip(start)
        .take(count)
        .find(|port| !given.contains(port) && port_free(*port))
        .inspect(|port| {
            given.insert(*port);
        })
        .ok_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, "no port is free"))
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

    use super::{candidates, pick_free_port, port_free};

    #[test]
    fn picked_ports_differ() {
        let ports: BTreeSet<u16> = (0..50).map(|_| pick_free_port().expect("a port")).collect();
        assert_eq!(ports.len(), 50);
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
