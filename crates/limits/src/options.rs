//! Limits of the connections of a port.

use std::time::Duration;

use config::Configuration;
use config::keys::trioxide as keys;

/// Limits of the connections of a port.
#[derive(Debug, Clone)]
pub struct ConnectionOptions {
    /// Connections that are open at once.
    pub max: usize,
    /// Connections that are open at once from one peer.
    pub max_per_peer: usize,
    /// How long a new connection may take until it has said which protocol it speaks.
    pub handshake_timeout: Duration,
    /// How long a connection is kept on which no call is under way.
    pub idle_timeout: Duration,
    /// How long a peer may send nothing in the middle of a message, or take nothing of an answer.
    pub stall_timeout: Duration,
}

impl ConnectionOptions {
    /// The limits that a configuration sets.
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
