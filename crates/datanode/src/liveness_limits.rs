//! How long the members of a pipeline may not reach each other.

use std::time::Duration;

/// How long is long, until SCM is asked to close a pipeline.
#[derive(Debug, Clone, Copy)]
pub struct LivenessLimits {
    /// Without a leader.
    pub no_leader: Duration,
    /// Without an answer of a follower to its leader.
    pub silent_follower: Duration,
}
