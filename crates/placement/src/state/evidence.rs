//! What has to be known before a container counts as one that nobody has, kept with its record.

use std::collections::BTreeSet;

use types::DatanodeId;

/// What is known of replicas that were not reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The members of its pipeline, from when that is gone until the container is closed: each may
    /// have a replica until it has said that it has none.
    pub members: Vec<DatanodeId>,
    /// Whether all replicas that it ought to have were CLOSED and empty when it came to be deleted.
    pub emptied: bool,
    /// Indexes of which replicas with blocks were ordered away since it was deleted, ever.
    pub cleared: BTreeSet<u32>,
}

impl Evidence {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
