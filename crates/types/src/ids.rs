//! Ids of containers, blocks, pipelines and DataNodes.

use std::fmt;
use std::str::FromStr;

use proto::hdds;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::WireError;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = std::num::ParseIntError;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                s.parse().map(Self)
            }
        }

        impl $name {
            /// Converts to the wire's signed 64-bit number.
            pub fn to_wire(self) -> i64 {
                self.0.cast_signed()
            }

            /// Converts from the wire.
            pub fn from_wire(id: i64) -> Self {
                Self(id.cast_unsigned())
            }
        }
    };
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                s.parse().map(Self)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl $name {
            /// A new random id. Called by leaders and start-up code, never by rules.
            pub fn random() -> Self {
                Self(Uuid::new_v4())
            }
        }
    };
}

number_id!(
    /// A container, numbered by SCM.
    ContainerId
);
number_id!(
    /// A block within the cluster, numbered by SCM; unique over all containers.
    LocalId
);
uuid_id!(
    /// A pipeline; also the id of its Raft group.
    PipelineId
);
uuid_id!(
    /// A DataNode.
    DatanodeId
);

/// A UUID as the two signed halves of `hadoop.hdds.UUID`.
pub fn uuid_to_wire(id: Uuid) -> hdds::Uuid {
    let (most, least) = id.as_u64_pair();
    hdds::Uuid { most_sig_bits: most.cast_signed(), least_sig_bits: least.cast_signed() }
}

/// A UUID from its two signed halves.
pub fn uuid_from_wire(id: &hdds::Uuid) -> Uuid {
    Uuid::from_u64_pair(id.most_sig_bits.cast_unsigned(), id.least_sig_bits.cast_unsigned())
}

impl PipelineId {
    /// Sets both forms of the id, because readers use either.
    pub fn to_wire(self) -> hdds::PipelineId {
        hdds::PipelineId { id: Some(self.to_string()), uuid128: Some(uuid_to_wire(self.0)) }
    }

    /// # Errors
    /// If both forms are absent, or the text form is not a UUID.
    pub fn from_wire(id: &hdds::PipelineId) -> Result<Self, WireError> {
        if let Some(uuid) = &id.uuid128 {
            return Ok(Self(uuid_from_wire(uuid)));
        }
        let text =
            id.id.as_deref().ok_or(WireError::Missing { message: "PipelineID", field: "id" })?;
        text.parse().map_err(|_| WireError::invalid("PipelineID", "id", text))
    }
}

/// A block: its container, and the part of it known to be committed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct BlockId {
    /// The container that holds the block.
    pub container: ContainerId,
    /// The block's number.
    pub local: LocalId,
    /// Block commit sequence id: Raft log index of the block's last PutBlock, 0 if unknown.
    pub bcsid: u64,
}

impl BlockId {
    /// A block without committed data.
    pub fn new(container: ContainerId, local: LocalId) -> Self {
        Self { container, local, bcsid: 0 }
    }

    /// Converts to the form of OM and SCM.
    pub fn to_wire(self) -> hdds::BlockId {
        hdds::BlockId {
            container_block_id: hdds::ContainerBlockId {
                container_id: self.container.to_wire(),
                local_id: self.local.to_wire(),
            },
            block_commit_sequence_id: Some(self.bcsid),
        }
    }

    /// Converts from the form of OM and SCM.
    pub fn from_wire(id: &hdds::BlockId) -> Self {
        Self {
            container: ContainerId::from_wire(id.container_block_id.container_id),
            local: LocalId::from_wire(id.container_block_id.local_id),
            bcsid: id.block_commit_sequence_id(),
        }
    }

    /// Converts to the container protocol's form; `replica_index` is 0 except for EC replicas.
    pub fn to_datanode(self, replica_index: i32) -> proto::datanode::DatanodeBlockId {
        proto::datanode::DatanodeBlockId {
            container_id: self.container.to_wire(),
            local_id: self.local.to_wire(),
            block_commit_sequence_id: Some(self.bcsid),
            replica_index: (replica_index != 0).then_some(replica_index),
        }
    }

    /// Converts from the container protocol's form.
    pub fn from_datanode(id: &proto::datanode::DatanodeBlockId) -> Self {
        Self {
            container: ContainerId::from_wire(id.container_id),
            local: LocalId::from_wire(id.local_id),
            bcsid: id.block_commit_sequence_id(),
        }
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conID: {} locID: {} bcsId: {}", self.container, self.local, self.bcsid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_survives_its_two_signed_halves() {
        let id = Uuid::parse_str("f2658398-05b3-4f16-9796-c5ba1605619e").unwrap();
        let wire = uuid_to_wire(id);
        assert!(wire.most_sig_bits < 0 && wire.least_sig_bits < 0);
        assert_eq!(uuid_from_wire(&wire), id);
        assert_eq!(PipelineId::from_wire(&PipelineId(id).to_wire()).unwrap(), PipelineId(id));
    }

    #[test]
    fn a_pipeline_id_is_read_from_either_form() {
        let id = PipelineId::random();
        let text = hdds::PipelineId { id: Some(id.to_string()), uuid128: None };
        assert_eq!(PipelineId::from_wire(&text), Ok(id));
        let junk = hdds::PipelineId { id: Some("no uuid".into()), uuid128: None };
        assert!(PipelineId::from_wire(&junk).is_err());
        assert!(PipelineId::from_wire(&hdds::PipelineId { id: None, uuid128: None }).is_err());
    }

    #[test]
    fn a_block_id_survives_both_wire_forms() {
        let id = BlockId { container: ContainerId(7), local: LocalId(u64::MAX - 3), bcsid: 9 };
        assert_eq!(BlockId::from_wire(&id.to_wire()), id);
        assert_eq!(BlockId::from_datanode(&id.to_datanode(2)), id);
    }
}
