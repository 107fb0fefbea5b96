//! Limits of the connections of a port.

use std::time::Duration;

use config::Configuration;
use config::keys::trioxide as keys;

/// Limits of the connections of a port.
#[derive(Debug, Clone)]
pub struct ConnectionOptions {
    /// Maximum number of open connections.
    pub max: usize,
    /// Maximum number of open connections of one peer.
    pub max_per_peer: usize,
    /// Timeout of a new connection for the first bytes of its protocol.
    pub handshake_timeout: Duration,
    /// Idle timeout of a connection without calls.
    pub idle_timeout: Duration,
    /// Maximum time for which a peer may send nothing within a message, or receive nothing of a
    /// response.
    pub stall_timeout: Duration,
}

impl ConnectionOptions {
    /// The limits in a configuration.
    pub fn from_configuration(conf: &Configuration) -> Self {
        let max = conf.get(&keys::TRIOXIDE_SERVER_MAX_CONNECTIONS).max(1) as usize;
        let per_peer = conf.get(&keys::TRIOXIDE_SERVER_MAX_CONNECTIONS_PER_PEER).max(1) as usize;
        Self {
            max,
            max_per_peer: per_peer.min(max),
            handshake_timeout: conf.get(&keys::TRIOXIDE_SERVER_HANDSHAKE_TIMEOUT),
            idle_timeout: conf.get(&keys::TRIOXIDE_SERVER_IDLE_TIMEOUT),
            stall_timeout: conf.get(&keys::TRIOXIDE_SERVER_STALL_TIMEOUT),
        }
    }
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            max: 10_000,
            max_per_peer: 4_000,
            handshake_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(600),
            stall_timeout: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_keys_are_those_of_the_options() {
        let of_keys = ConnectionOptions::from_configuration(&Configuration::default());
        assert_eq!(format!("{of_keys:?}"), format!("{:?}", ConnectionOptions::default()));
    }
}
