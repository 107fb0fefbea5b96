//! A replica with an index that is read from.

use std::ops::Deref;

use erasure::ReplicaIndex;
use types::ContainerId;

use super::job::Member;
use crate::repair::push::{PushError, Pusher};
use crate::repair::replica_source::ReplicaSource;

/// A replica that is read from.
pub(super) struct Source {
    /// Its index.
    pub index: ReplicaIndex,
    replica: ReplicaSource,
}

impl Source {
    pub fn new(container: ContainerId, of: &Member, pusher: &Pusher) -> Result<Self, PushError> {
        let index = of.index.get().cast_signed();
        let replica = ReplicaSource::new(container, index, &of.node, pusher)?;
        Ok(Self { index: of.index, replica })
    }
}

impl Deref for Source {
    type Target = ReplicaSource;

    fn deref(&self) -> &ReplicaSource {
        &self.replica
    }
}
