//! Whose a port is: the tree's alone, somebody else's, or nobody's.

use std::net::IpAddr;

use crate::listener::{Holder, Socket, candidates, holder, holder_of, sockets, split_by_tree};
use crate::procfs;

/// What one look at one port showed.
#[derive(Debug)]
pub(crate) enum Look {
    /// Nobody listens, or it is not clear yet who does.
    Nobody,
    /// The tree listens there, and at none of the addresses that were asked for: at these.
    Elsewhere(Vec<IpAddr>),
    /// The tree listens, by this process, and nobody else where it does.
    Own(Own),
    /// Somebody else does, or listens at the same address as the tree.
    Foreign {
        /// Their socket.
        socket: Socket,
        /// Whether the tree listens too, so that a connection may go to either.
        shared: bool,
        /// Where the tree listens instead, if it does.
        elsewhere: Vec<IpAddr>,
    },
}

/// A port that the tree holds.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    pub(crate) holder: Holder,
    /// The sockets that take the connections.
    sockets: Vec<Socket>,
}

impl Own {
    /// Whether the same sockets listen, and no others.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.sockets.len() == other.sockets.len() && self.sockets.iter().all(|socket| other.sockets.contains(socket))
    }
}

/// Looks who listens on a port, at these addresses or at any; the tree is that below `keeper`.
pub(crate) fn look(port: u16, addresses: &[IpAddr], keeper: u32) -> Look {
    let all = sockets(port);
    if all.is_empty() {
        return Look::Nobody;
    }
    let wanted = if addresses.is_empty() { all.clone() } else { addresses.iter().flat_map(|&address| candidates(&all, address)).collect() };
    let (own, foreign) = split_by_tree(&wanted, keeper);
    // The kernel may hand a connection to any of the sockets at one address. At an address to be asked that is all of them; where only a port is
    // named, who listens on another interface takes nothing from the program.
    let rival =
        foreign.iter().find(|socket| !addresses.is_empty() || own.is_empty() || own.iter().any(|(own, _)| own.address == socket.address));
    match (own.first(), rival) {
        (_, Some(&socket)) => Look::Foreign { socket, shared: !own.is_empty(), elsewhere: elsewhere(&all, addresses, keeper) },
        (Some(&(socket, pid)), None) => {
            Look::Own(Own { holder: holder(socket, Some(pid)), sockets: own.iter().map(|(socket, _)| *socket).collect() })
        }
        (None, None) => match elsewhere(&all, addresses, keeper) {
            at if at.is_empty() => Look::Nobody,
            at => Look::Elsewhere(at),
        },
    }
}

/// Where the tree listens that is none of the addresses asked for.
fn elsewhere(all: &[Socket], addresses: &[IpAddr], keeper: u32) -> Vec<IpAddr> {
    if addresses.is_empty() {
        return Vec::new();
    }
    let asked: Vec<u64> = addresses.iter().flat_map(|&address| candidates(all, address)).map(|socket| socket.inode).collect();
    let others: Vec<Socket> = all.iter().copied().filter(|socket| !asked.contains(&socket.inode)).collect();
    split_by_tree(&others, keeper).0.into_iter().map(|(socket, _)| socket.address).collect()
}

/// Who holds a socket that is not the tree's, unless a second look finds that it is the tree's after all, or gone.
pub(crate) fn stranger(socket: Socket, keeper: u32) -> Option<Holder> {
    let pid = holder_of(socket.inode, procfs::all_pids());
    let is_own = pid.is_some_and(|pid| procfs::descends_from(pid, keeper));
    (!is_own && sockets(socket.port).contains(&socket)).then(|| holder(socket, pid))
}
