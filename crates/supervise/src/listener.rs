//! Who listens on a TCP port: the kernel's socket tables, and the processes that hold the sockets.
//!
//! The tables are those of this process's network namespace, the same one from which an HTTP check would connect.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::procfs;
use crate::tree;

/// The state of a listening socket in the kernel's tables.
const LISTEN: &str = "0A";

/// A process, as far as it can be known, that holds a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The port.
    pub port: u16,
    /// The process; `None` where its descriptors may not be read.
    pub pid: Option<u32>,
    /// Its arguments, or its title, in one line.
    pub command: Option<String>,
    /// The user that made the socket.
    pub uid: u32,
}

/// One listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    pub(crate) inode: u64,
    pub(crate) uid: u32,
}

/// Who listens on a port, at any address; `None` when nobody does.
#[must_use]
pub fn listener_of(port: u16) -> Option<Holder> {
    let socket = sockets(port).into_iter().next()?;
    Some(holder(socket, holder_of(socket.inode, procfs::all_pids())))
}

/// All sockets that listen on a port.
pub(crate) fn sockets(port: u16) -> Vec<Socket> {
    let mut found = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        found.extend(text.lines().skip(1).filter_map(parse).filter(|socket| socket.port == port));
    }
    found
}

/// The sockets among `all` that would take a connection to `target`: those bound to it, or else those bound to every address.
pub(crate) fn candidates(all: &[Socket], target: IpAddr) -> Vec<Socket> {
    let bound_to = |address: IpAddr| all.iter().copied().filter(|socket| socket.address == address).collect::<Vec<_>>();
    let any_v6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let wildcard = if target.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { any_v6 };
    // A socket bound to every IPv6 address takes IPv4 connections too, unless it was told not to.
    [target, wildcard, any_v6].into_iter().map(bound_to).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The first of `pids` that holds the socket.
pub(crate) fn holder_of(inode: u64, pids: impl IntoIterator<Item = u32>) -> Option<u32> {
    let name = format!("socket:[{inode}]");
    pids.into_iter().find(|&pid| {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        descriptors.flatten().any(|descriptor| fs::read_link(descriptor.path()).is_ok_and(|target| target.as_os_str() == name.as_str()))
    })
}

/// Describes who holds a socket.
pub(crate) fn holder(socket: Socket, pid: Option<u32>) -> Holder {
    let process = pid.and_then(tree::process);
    let command = process.map(|process| if process.cmdline.is_empty() { process.comm } else { process.title() });
    Holder { port: socket.port, pid, command, uid: socket.uid }
}

/// Splits sockets into those that a process of the tree holds, with it, and the others.
pub(crate) fn split_by_tree(sockets: &[Socket], root: u32) -> (Vec<(Socket, u32)>, Vec<Socket>) {
    let members = procfs::descendants(root);
    let (mut own, mut foreign) = (Vec::new(), Vec::new());
    for &socket in sockets {
        match holder_of(socket.inode, members.iter().copied()) {
            Some(pid) => own.push((socket, pid)),
            None => foreign.push(socket),
        }
    }
    (own, foreign)
}

/// Parses one row of a socket table; `None` unless it is a listening socket.
fn parse(row: &str) -> Option<Socket> {
    let mut fields = row.split_ascii_whitespace();
    let local = fields.nth(1)?;
    if fields.nth(1)? != LISTEN {
        return None;
    }
    let uid = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    let (address, port) = local.split_once(':')?;
    Some(Socket { address: parse_address(address)?, port: u16::from_str_radix(port, 16).ok()?, inode, uid })
}

/// Parses an address: 32-bit words in the machine's own byte order, in hex.
fn parse_address(text: &str) -> Option<IpAddr> {
    let mut bytes = Vec::with_capacity(16);
    for at in (0..text.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(text.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    if let Ok(v4) = <[u8; 4]>::try_from(bytes.as_slice()) {
        return Some(IpAddr::from(v4));
    }
    let v6 = Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?);
    Some(v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4))
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, TcpListener};

    use super::{Socket, candidates, listener_of, parse, sockets};

    #[cfg(target_endian = "little")]
    #[test]
    fn rows_of_both_tables_are_read() {
        let v4 = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 424242 1 0000000000000000 100 0 0 10 0";
        let socket = parse(v4).expect("listens");
        assert_eq!((socket.address.to_string().as_str(), socket.port, socket.inode, socket.uid), ("127.0.0.1", 8080, 424_242, 1000));
        let v6 = "   1: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 0:0 00:0 0  0 0 7 1";
        assert_eq!(parse(v6).expect("listens").address.to_string(), "::1");
        let connected = v4.replace(" 0A ", " 01 ");
        assert_eq!(parse(&connected), None);
    }

    #[test]
    fn a_socket_bound_to_the_address_goes_before_one_bound_to_all() {
        let socket = |address: &str, inode| Socket { address: address.parse().expect("an address"), port: 1, inode, uid: 0 };
        let all = [socket("0.0.0.0", 1), socket("127.0.0.1", 2), socket("::", 3)];
        let inodes =
            |target: &str| candidates(&all, target.parse::<IpAddr>().expect("an address")).iter().map(|s| s.inode).collect::<Vec<_>>();
        assert_eq!(inodes("127.0.0.1"), [2]);
        assert_eq!(inodes("10.0.0.1"), [1]);
        assert_eq!(inodes("::1"), [3]);
    }

    #[test]
    fn this_process_is_found_behind_its_own_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let port = listener.local_addr().expect("has an address").port();
        let holder = listener_of(port).expect("somebody listens");
        assert_eq!(holder.pid, Some(std::process::id()));
        assert!(holder.command.is_some_and(|command| !command.is_empty()));
        drop(listener);
        assert_eq!(sockets(port), []);
    }
}
