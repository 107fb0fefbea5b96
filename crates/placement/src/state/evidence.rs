//! Evidence, kept in a container's record, that it has no replicas.

use std::collections::BTreeSet;

use types::DatanodeId;

/// Evidence about replicas that were not reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The members of its pipeline, from the pipeline's removal until the container is closed: each
    /// may have a replica until it has reported that it has none.
    pub members: Vec<DatanodeId>,
    /// True if all required replicas were CLOSED and empty when the deletion began.
    pub emptied: bool,
    /// Indexes of which replicas with blocks were ever ordered to be deleted after the container's
    /// deletion.
    pub cleared: BTreeSet<u32>,
}

impl Evidence {
    /// Returns `true` if there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
