//! Ports for servers whose addresses must be in a file before they listen.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// `count` loopback ports that are not in use.
///
/// They are below those that the system gives to outgoing connections: one of these could take the
/// port before its server listens, or while it is down.
///
/// # Panics
/// When so many are not to be had.
pub fn free_ports(count: usize) -> Vec<u16> {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    // Tests of one process take one after the other, processes begin at different ones.
    let first = 10_000 + (std::process::id() % 100) as u16 * 200;
    let next = std::iter::repeat_with(|| first + TAKEN.fetch_add(1, Ordering::Relaxed) % 2_000);
    let free =
        next.take(2_000).filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    let ports: Vec<u16> = free.take(count).collect();
    assert_eq!(ports.len(), count, "free ports from {first} on");
    ports
}

/// The same as addresses.
///
/// # Panics
/// As [`free_ports`] does.
pub fn free_addresses(count: usize) -> Vec<SocketAddr> {
    free_ports(count)
        .into_iter()
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .collect()
}
