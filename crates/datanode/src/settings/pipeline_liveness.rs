//! Limits of the time without contact between a pipeline's members.

use std::time::Duration;

use config::keys::datanode as dn;
use config::{Configuration, Key};

use crate::DatanodeError;

/// Time limits until SCM is asked to close a pipeline.
#[derive(Debug, Clone, Copy)]
pub struct LivenessLimits {
    /// Without a leader.
    pub no_leader: Duration,
    /// Without an answer of a follower to its leader.
    pub silent_follower: Duration,
}

impl LivenessLimits {
    /// Reads them.
    ///
    /// # Errors
    /// When one is 0: every pipeline would be closed as soon as it is made.
    pub(crate) fn read(conf: &Configuration) -> Result<Self, DatanodeError> {
        Ok(Self {
            no_leader: limit(conf, &dn::HDDS_RATIS_RAFT_SERVER_NOTIFICATION_NO_LEADER_TIMEOUT)?,
            silent_follower: limit(conf, &dn::HDDS_RATIS_RAFT_SERVER_RPC_SLOWNESS_TIMEOUT)?,
        })
    }
}

fn limit(conf: &Configuration, key: &'static Key<Duration>) -> Result<Duration, DatanodeError> {
    let limit = conf.get(key);
    if limit.is_zero() {
        return Err(DatanodeError::Setting {
            key: key.name(),
            value: "0".to_owned(),
            reason: "it must not be 0",
        });
    }
    Ok(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_refused() {
        for key in [
            &dn::HDDS_RATIS_RAFT_SERVER_NOTIFICATION_NO_LEADER_TIMEOUT,
            &dn::HDDS_RATIS_RAFT_SERVER_RPC_SLOWNESS_TIMEOUT,
        ] {
            let conf = Configuration::builder().build().unwrap();
            assert!(LivenessLimits::read(&conf).is_ok());
            let refused = LivenessLimits::read(&conf.with(key.name(), "0s"));
            assert!(
                matches!(refused, Err(DatanodeError::Setting { key: of, .. }) if of == key.name()),
                "{refused:?}"
            );
        }
    }
}
