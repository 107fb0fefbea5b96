//! Ports of members, which must be known to all members before the first one listens.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::TcpListener;
use std::ops::Range;

/// Distance between the ports of one member and the next.
const STEP: u16 = 100;
/// First port of the free range.
const FIRST_FREE: u16 = 10_000;
/// File with the range of ports of outgoing connections, and its default start.
const OUTGOING: (&str, u16) = ("/proc/sys/net/ipv4/ip_local_port_range", 32_768);

/// Allocates ports.
pub(crate) struct Ports {
    bind: String,
    free: bool,
    /// Held until all are allocated, so that none is allocated twice.
    held: Vec<TcpListener>,
}

impl Ports {
    pub(crate) fn new(bind: &str, free: bool) -> Self {
        Self { bind: bind.to_owned(), free, held: Vec::new() }
    }

    /// The port of a member, given that of the first; 0 is a random free port.
    pub(crate) fn of(&mut self, first: u16, number: usize) -> io::Result<u16> {
        if self.free || first == 0 {
            let listener = self.free_one()?;
            let port = listener.local_addr()?.port();
            self.held.push(listener);
            return Ok(port);
        }
        let further = u16::try_from(number - 1).ok().and_then(|n| n.checked_mul(STEP));
        let port = further.and_then(|distance| first.checked_add(distance));
        port.ok_or_else(|| io::Error::other(format!("no port for number {number} from {first}")))
    }

    /// A free port outside the range of outgoing connections: one in that range could be taken
    /// before its member listens.
    fn free_one(&self) -> io::Result<TcpListener> {
        let all = FIRST_FREE..first_outgoing();
        let begin = RandomState::new().hash_one(self.held.len()) as usize % all.len().max(1);
        let found = rotated(all, begin).find_map(|port| self.listen(port).ok());
        found.map_or_else(|| self.listen(0), Ok)
    }

    fn listen(&self, port: u16) -> io::Result<TcpListener> {
        TcpListener::bind((self.bind.as_str(), port))
    }
}

/// All ports, in a rotation that starts in the middle.
fn rotated(all: Range<u16>, begin: usize) -> impl Iterator<Item = u16> {
    let count = all.len();
    all.cycle().skip(begin).take(count)
}

/// The first port of outgoing connections.
fn first_outgoing() -> u16 {
    let said = std::fs::read_to_string(OUTGOING.0).unwrap_or_default();
    said.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(OUTGOING.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_outgoing_connection_gets_a_free_port() {
        let mut ports = Ports::new("127.0.0.1", true);
        let mut given: Vec<u16> = (1..=50).map(|n| ports.of(0, n).unwrap()).collect();
        assert!(
            given.iter().all(|port| (FIRST_FREE..first_outgoing()).contains(port)),
            "{given:?}"
        );
        given.sort_unstable();
        given.dedup();
        assert_eq!(given.len(), 50, "none is given out twice");
    }

    #[test]
    fn ports_are_looked_through_once_from_any_place_on() {
        assert_eq!(rotated(5..9, 2).collect::<Vec<_>>(), [7, 8, 5, 6]);
        assert_eq!(rotated(9..9, 0).count(), 0);
    }
}
