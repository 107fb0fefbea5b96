//! Identity of peers.

use std::net::{IpAddr, Ipv6Addr};

/// The identity of a peer for limits: its IPv4 address, or the /64 network of its IPv6 address,
/// since one host usually can use any address of its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeerKey(IpAddr);

impl PeerKey {
    /// The peer at this address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) if !v6.is_loopback() => {
                let network = u128::from(v6) & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from(network))
            }
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_is_one_peer() {
        let key = |text: &str| PeerKey::of(text.parse().unwrap());
        assert_eq!(key("::ffff:10.0.0.1"), key("10.0.0.1"));
        assert_eq!(key("2001:db8::1"), key("2001:db8::2:3"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_ne!(key("10.0.0.1"), key("10.0.0.2"));
    }
}
