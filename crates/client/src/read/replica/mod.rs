//! Single replicas of a block, for administrators who analyse a key or verify that it can be read.
//!
//! * [`BlockReplica`]: the state and data of one replica
//! * [`verify`]: checksums of the bytes of a replica
//! * [`stripe_sums`]: consistency of the replicas of a block group
//!
//! **Invariant.** Nothing is decoded and no other replica is read: missing data of one replica is
//! never hidden by others.

mod stripe_sums;
mod verify;

use erasure::{BlockGroup, Scheme};
use futures::future::BoxFuture;
use proto::datanode as dn;
use proto::ozone::{KeyInfo, KeyLocation};
use types::{BlockId, DatanodeDetails, Pipeline, ReplicationConfig};

use super::block::{BlockReader, BlockRef};
use crate::datanode::Command;
use crate::om::args::KeyPath;
use crate::{Client, Error, Result};

/// A block of a key, or a block group, and all replicas in SCM.
pub struct ReplicatedBlock {
    /// The block.
    pub id: BlockId,
    /// Its replication.
    pub config: ReplicationConfig,
    /// Its replicas, in the order of their replica indexes.
    pub replicas: Vec<BlockReplica>,
    group: Option<BlockGroup>,
}

/// The replica of a block on one DataNode.
pub struct BlockReplica {
    /// The DataNode.
    pub node: DatanodeDetails,
    /// The replica index; 0 for a replicated block.
    pub index: u32,
    block: BlockRef,
    reader: BlockReader,
}

impl Client {
    /// All information about a key, and the current replicas of its blocks in SCM.
    ///
    /// # Errors
    /// `KEY_NOT_FOUND`, or a failure to reach OM.
    pub fn key_replicas<'a>(
        &'a self,
        path: &'a KeyPath,
    ) -> BoxFuture<'a, Result<(KeyInfo, Vec<ReplicatedBlock>)>> {
        Box::pin(async move {
            let info = self.locate_key(path, true).await?;
            let locations = info.key_location_list.last();
            let locations = locations.map(|version| version.key_locations.as_slice());
            let mut reader = BlockReader::new(self.datanodes().clone(), self.options());
            // The purpose is to verify checksums.
            reader.verify = true;
            let blocks = locations
                .unwrap_or_default()
                .iter()
                .map(|location| ReplicatedBlock::new(location, &reader))
                .collect::<Result<_>>()?;
            Ok((info, blocks))
        })
    }
}

impl ReplicatedBlock {
    fn new(location: &KeyLocation, reader: &BlockReader) -> Result<Self> {
        let wire = location.pipeline.as_ref();
        let wire = wire.ok_or_else(|| Error::om_reply("a location without pipeline"))?;
        let pipeline = Pipeline::from_wire(wire).map_err(|e| Error::om_reply(e.to_string()))?;
        let group = match pipeline.config {
            ReplicationConfig::Ec(config) => {
                let scheme = Scheme::new(config).map_err(|e| Error::om_reply(e.to_string()))?;
                Some(BlockGroup::new(scheme, location.length))
            }
            ReplicationConfig::Ratis(_) | ReplicationConfig::StandAlone(_) => None,
        };
        let mut replicas = Vec::with_capacity(pipeline.members.len());
        for (position, node) in pipeline.members.iter().enumerate() {
            let index = pipeline.replica_indexes.get(position).copied().unwrap_or_default();
            let length = match group {
                None => location.length,
                Some(group) => {
                    let replica = group.scheme().replica(index);
                    group.replica_length(replica.map_err(|e| Error::om_reply(e.to_string()))?)
                }
            };
            let block = BlockRef::on_node(location, length, node.clone(), index);
            replicas.push(BlockReplica {
                node: node.clone(),
                index,
                block,
                reader: reader.clone(),
            });
        }
        replicas.sort_by_key(|replica| replica.index);
        let id = BlockId::from_wire(&location.block_id);
        Ok(Self { id, config: pipeline.config, replicas, group })
    }
}

impl BlockReplica {
    /// The DataNode's record of the block: its chunks with their checksums.
    ///
    /// # Errors
    /// The DataNode's error, or a failure to reach it.
    pub fn block_data(&self) -> BoxFuture<'_, Result<dn::BlockData>> {
        Box::pin(async move {
            let request = dn::GetBlockRequestProto { block_id: self.block.wire_id() };
            let command = Command {
                kind: dn::Type::GetBlock,
                request_field: 13,
                response_field: 12,
                request: &request,
            };
            let reply: dn::GetBlockResponseProto = self.call(command).await?;
            Ok(reply.block_data)
        })
    }

    /// The DataNode's record of its replica of the container.
    ///
    /// # Errors
    /// The DataNode's error, or a failure to reach it.
    pub fn container(&self) -> BoxFuture<'_, Result<dn::ContainerDataProto>> {
        Box::pin(async move {
            let command = Command {
                kind: dn::Type::ReadContainer,
                request_field: 7,
                response_field: 6,
                request: &dn::ReadContainerRequestProto {},
            };
            let reply: dn::ReadContainerResponseProto = self.call(command).await?;
            let invalid = || Error::protocol(format!("datanode {}", self.node.id), "no container");
            reply.container_data.ok_or_else(invalid)
        })
    }

    async fn call<Q: prost::Message, A: prost::Message + Default>(
        &self,
        command: Command<'_, Q>,
    ) -> Result<A> {
        let (datanodes, timeout) = (&self.reader.datanodes, self.reader.timeout);
        let target = self.block.target();
        let call = datanodes.call(&self.node, &target, command, Vec::new(), 0, timeout);
        let (reply, _) = call.await.map_err(|failure| failure.into_error(self.node.id))?;
        Ok(reply)
    }
}
