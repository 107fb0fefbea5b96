//! Numbers of the replicas of a block group.

use std::fmt;

/// Ozone's replica index: data replicas have 1 to d, parity replicas d+1 to d+p.
///
/// [`Scheme::replica`](crate::Scheme::replica) makes one of a number from a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaIndex(pub(crate) u8);

impl ReplicaIndex {
    /// The first data replica, which every scheme has, and which is never shorter than another.
    pub const FIRST: Self = Self(1);

    /// The number as Ozone's messages carry it.
    pub fn get(self) -> u32 {
        u32::from(self.0)
    }

    /// The position in a list of all replicas, from 0.
    pub fn position(self) -> usize {
        usize::from(self.0).saturating_sub(1)
    }
}

impl fmt::Display for ReplicaIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ReplicaIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<ReplicaIndex> for u32 {
    fn from(replica: ReplicaIndex) -> Self {
        replica.get()
    }
}
