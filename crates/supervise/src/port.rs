//! Free TCP ports on the loopback address.
//!
//! A free port is not reserved: between the asking and the program's own bind another process can take it. Readiness therefore
//! checks whose the listener is.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// Ports that were given out by this process.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// How often the kernel may offer a port that was given out before.
const TRIES: usize = 4096;

/// Whether nobody listens on the port and it can be bound on the loopback address.
///
/// The bind allows an address whose last connections are still closing, as servers do.
#[must_use]
pub fn port_free(port: u16) -> bool {
    crate::listener::sockets(port).is_empty() && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Picks a port that is free now and that this process has not given out before.
///
/// # Errors
/// When the kernel has none to offer.
pub fn pick_free_port() -> io::Result<u16> {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    // Kept open until one is found, so that the kernel does not offer them again.
    let mut refused = Vec::new();
    while refused.len() < TRIES {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        if crate::listener::sockets(port).len() == 1 && given.insert(port) {
            return Ok(port);
        }
        refused.push(listener);
    }
    Err(io::Error::new(io::ErrorKind::AddrNotAvailable, "every port that the kernel offered was given out before"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::TcpListener;

    use super::{pick_free_port, port_free};

    #[test]
    fn picked_ports_differ() {
        let ports: BTreeSet<u16> = (0..50).map(|_| pick_free_port().expect("a port")).collect();
        assert_eq!(ports.len(), 50);
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
