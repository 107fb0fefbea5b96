//! Supported erasure-coded replications, and the numbering of their replicas.

use std::fmt;

use types::replication::{EcCodec, EcConfig};

use crate::Error;
use crate::replica_index::ReplicaIndex;

/// A supported erasure-coded replication: its numbers have been validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scheme {
    code: EcCodec,
    data: u8,
    parity: u8,
    chunk_size: u32,
}

impl Scheme {
    /// # Errors
    /// If the code over GF(2^8) does not support that many replicas, or a cell would be empty.
    pub fn new(config: EcConfig) -> Result<Self, Error> {
        let EcConfig { data, parity, codec: code, chunk_size } = config;
        let counts = || Error::ReplicaCounts { data, parity };
        // Ozone: RSRawEncoder rejects 256 units and more.
        let total = data.checked_add(parity).and_then(|n| u8::try_from(n).ok());
        total.ok_or_else(counts)?;
        if data == 0 || parity == 0 {
            return Err(counts());
        }
        if code == EcCodec::Xor && parity != 1 {
            return Err(Error::XorParity { parity });
        }
        if chunk_size == 0 || i32::try_from(chunk_size).is_err() {
            return Err(Error::ChunkSize { chunk_size });
        }
        let (data, parity) = (u8::try_from(data), u8::try_from(parity));
        let (Ok(data), Ok(parity)) = (data, parity) else { return Err(counts()) };
        Ok(Self { code, data, parity, chunk_size })
    }

    /// The parity code.
    pub fn code(self) -> EcCodec {
        self.code
    }

    /// Number of data replicas: d.
    pub fn data(self) -> usize {
        usize::from(self.data)
    }

    /// Number of parity replicas: p.
    pub fn parity(self) -> usize {
        usize::from(self.parity)
    }

    /// Number of all replicas: d + p.
    pub fn total(self) -> usize {
        self.data().saturating_add(self.parity())
    }

    /// Size of a full cell, which is written as one chunk.
    pub fn chunk_size(self) -> u32 {
        self.chunk_size
    }

    /// Data bytes of a full stripe.
    pub fn stripe_size(self) -> u64 {
        // An 8-bit number times a 32-bit one.
        u64::from(self.data).saturating_mul(u64::from(self.chunk_size))
    }

    /// Data bytes of a block group whose replicas have `block_size` bytes each, saturating.
    pub fn group_capacity(self, block_size: u64) -> u64 {
        block_size.saturating_mul(u64::from(self.data))
    }

    /// The replica with the `index` of a message.
    ///
    /// # Errors
    /// If there is no such replica.
    pub fn replica(self, index: u32) -> Result<ReplicaIndex, Error> {
        let replicas = u32::from(self.data).saturating_add(u32::from(self.parity));
        u8::try_from(index)
            .ok()
            .filter(|_| (1..=replicas).contains(&index))
            .map(ReplicaIndex)
            .ok_or(Error::NoSuchReplica { index, replicas })
    }

    /// All replicas, data first.
    pub fn replicas(self) -> impl DoubleEndedIterator<Item = ReplicaIndex> + Clone {
        (1..=self.data.saturating_add(self.parity)).map(ReplicaIndex)
    }

    /// The data replicas.
    pub fn data_replicas(self) -> impl DoubleEndedIterator<Item = ReplicaIndex> + Clone {
        (1..=self.data).map(ReplicaIndex)
    }

    /// The parity replicas.
    pub fn parity_replicas(self) -> impl DoubleEndedIterator<Item = ReplicaIndex> + Clone {
        let first = self.data.saturating_add(1);
        (first..=self.data.saturating_add(self.parity)).map(ReplicaIndex)
    }

    /// Returns `true` for a data replica.
    pub fn is_data(self, replica: ReplicaIndex) -> bool {
        replica.0 <= self.data
    }

    /// Checks that the replica belongs to this scheme.
    pub(crate) fn check(self, replica: ReplicaIndex) -> Result<ReplicaIndex, Error> {
        self.replica(replica.get())
    }
}

impl TryFrom<EcConfig> for Scheme {
    type Error = Error;

    fn try_from(config: EcConfig) -> Result<Self, Error> {
        Self::new(config)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (data, parity) = (u32::from(self.data), u32::from(self.parity));
        let Self { code: codec, chunk_size, .. } = *self;
        EcConfig { data, parity, codec, chunk_size }.fmt(f)
    }
}
