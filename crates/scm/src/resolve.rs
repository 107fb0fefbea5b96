//! Addresses of hosts.

use std::net::ToSocketAddrs;

use config::HostPort;

/// The IP address of a host, or its name if it has none.
pub fn resolve(address: &HostPort) -> String {
    let found =
        (address.host.as_str(), address.port).to_socket_addrs().ok().and_then(|mut a| a.next());
    found.map_or_else(|| address.host.clone(), |a| a.ip().to_string())
}
