//! The parts of a key: blocks, or block groups of an erasure-coded key.

use std::sync::Arc;

use erasure::{Codec, Scheme};
use proto::ozone::{KeyInfo, KeyLocation};
use types::BlockId;
use types::replication::EcConfig;

use super::block::BlockRef;
use super::group::GroupRef;
use crate::{Error, Result};

/// A part of the key.
#[derive(Clone)]
pub(super) enum Part {
    Block(Arc<BlockRef>),
    Group(Arc<GroupRef>),
}

impl Part {
    /// The parts of a key, and their total length.
    ///
    /// # Errors
    /// If OM's response is inconsistent.
    pub(super) fn all(info: &KeyInfo, locations: &[KeyLocation]) -> Result<(Vec<Self>, u64)> {
        let codec = match &info.ec_replication_config {
            Some(wire) => {
                let config = EcConfig::from_wire(wire);
                let config = config.map_err(|e| Error::om_reply(e.to_string()))?;
                let scheme = Scheme::new(config).map_err(|e| Error::om_reply(e.to_string()))?;
                Some(Codec::new(scheme))
            }
            None => None,
        };
        let mut offset = 0;
        let mut parts = Vec::with_capacity(locations.len());
        for location in locations {
            parts.push(match &codec {
                Some(codec) => Self::Group(Arc::new(GroupRef::new(location, offset, codec)?)),
                None => Self::Block(Arc::new(BlockRef::new(location, offset)?)),
            });
            offset += location.length;
        }
        Ok((parts, offset))
    }

    /// Its offset in the key.
    pub(super) fn offset(&self) -> u64 {
        match self {
            Self::Block(block) => block.offset,
            Self::Group(group) => group.offset,
        }
    }

    /// Its data bytes.
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Block(block) => block.length,
            Self::Group(group) => group.layout.length(),
        }
    }
}

/// A part whose location is looked up again after its replicas failed.
pub(super) trait Located {
    /// Its id.
    fn id(&self) -> BlockId;

    /// Takes over its current location.
    fn refresh(&self, location: &KeyLocation) -> Result<()>;
}

impl Located for BlockRef {
    fn id(&self) -> BlockId {
        self.id
    }

    fn refresh(&self, location: &KeyLocation) -> Result<()> {
        Self::refresh(self, location)
    }
}

impl Located for GroupRef {
    fn id(&self) -> BlockId {
        self.id
    }

    fn refresh(&self, location: &KeyLocation) -> Result<()> {
        Self::refresh(self, location)
    }
}
