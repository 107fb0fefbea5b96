//! A replica on another DataNode, that is read from to repair or rebuild one.

use std::time::Duration;

use bytes::Bytes;
use container::checksum;
use framed::{CallError, Client};
use prost::Message;
use proto::datanode as dn;
use proto::datanode::container_data_proto::State;
use types::{ContainerId, DatanodeDetails, DatanodeId, LocalId};

use crate::repair::push::{PushError, Pusher};
use containerstore::bcsid_of;

/// Timeout of a source's response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Rows per request.
const PAGE: u32 = 1_000;

/// Errors of a source.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum SourceError {
    /// It does not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It refuses.
    #[error("{code:?}: {message}")]
    Refused {
        /// The result code.
        code: dn::Result,
        /// Its words.
        message: String,
    },
    /// An invalid response.
    #[error("it answers {0}")]
    Odd(String),
    /// Its replica is not CLOSED.
    #[error("its replica is not CLOSED")]
    NotClosed,
    /// Its bytes are damaged.
    #[error("it has damaged bytes: {0}")]
    Damaged(#[from] checksum::ChecksumError),
}

impl SourceError {
    /// Returns `true` if the node reports that it has no such block.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Refused { code: dn::Result::NoSuchBlock, .. })
    }

    /// Returns `true` if no later request to the source can succeed.
    pub fn is_of_the_node(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}

/// Size and state of a source's replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Bytes in it.
    pub used: i64,
    /// Blocks in it.
    pub blocks: i64,
    /// Size at which it counts as full.
    pub max_size: i64,
    /// The last deletion transaction up to which it has taken all.
    pub delete_tx: u64,
    /// Its commit sequence id; 0 of a node of an earlier release, which does not tell.
    pub bcsid: u64,
    /// True if it is CLOSED: a replica that may still be written is no source.
    pub is_closed: bool,
    /// True if it is QUASI_CLOSED.
    pub is_quasi_closed: bool,
    /// True if it is UNHEALTHY: its good blocks may be the only ones left.
    pub is_damaged: bool,
}

/// A replica that is read from.
pub(crate) struct ReplicaSource {
    node: DatanodeDetails,
    container: ContainerId,
    /// Its index in an EC group, else 0.
    index: i32,
    client: Client,
}

impl ReplicaSource {
    /// The replica of a container that a node has, `index` being its index in an EC group, else 0.
    ///
    /// # Errors
    /// When the node cannot be called.
    pub fn new(
        container: ContainerId,
        index: i32,
        node: &DatanodeDetails,
        pusher: &Pusher,
    ) -> Result<Self, PushError> {
        let client = pusher.client(node)?;
        Ok(Self { node: node.clone(), container, index, client })
    }

    /// The node.
    pub fn node(&self) -> DatanodeId {
        self.node.id
    }

    /// Returns the size of the replica.
    pub async fn size(&self) -> Result<Size, SourceError> {
        let request = dn::ContainerCommandRequestProto {
            read_container: Some(dn::ReadContainerRequestProto {}),
            ..self.request(dn::Type::ReadContainer)
        };
        let (response, _) = self.call(&request).await?;
        let data = response.read_container.and_then(|read| read.container_data);
        let data = data.ok_or_else(|| SourceError::Odd("without its container".to_owned()))?;
        let is = |state: State| data.state == Some(state as i32);
        let (is_closed, is_damaged) = (is(State::Closed), is(State::Unhealthy));
        let is_quasi_closed = is(State::QuasiClosed);
        let bcsid = bcsid_of(&data);
        let dn::ContainerDataProto { bytes_used, block_count, size, .. } = data;
        let delete_tx = data.delete_transaction_id.unwrap_or(0);
        Ok(Size {
            used: bytes_used.unwrap_or(0),
            blocks: block_count.unwrap_or(0),
            max_size: size.unwrap_or(0),
            delete_tx: u64::try_from(delete_tx).unwrap_or(0),
            bcsid,
            is_closed,
            is_quasi_closed,
            is_damaged,
        })
    }

    /// Rows from a block on, itself included, in the order of their keys.
    pub async fn list(&self, from: Option<LocalId>) -> Result<Vec<dn::BlockData>, SourceError> {
        let start_local_id = from.map(LocalId::to_wire);
        let request = dn::ContainerCommandRequestProto {
            list_block: Some(dn::ListBlockRequestProto { start_local_id, count: PAGE }),
            ..self.request(dn::Type::ListBlock)
        };
        let (response, _) = self.call(&request).await?;
        Ok(response.list_block.map(|list| list.block_data).unwrap_or_default())
    }

    /// The Merkle tree of the replica.
    pub async fn tree(&self) -> Result<dn::ContainerMerkleTree, SourceError> {
        let container_id = Some(self.container.to_wire());
        let request = dn::ContainerCommandRequestProto {
            get_container_checksum_info: Some(dn::GetContainerChecksumInfoRequestProto {
                container_id,
            }),
            ..self.request(dn::Type::GetContainerChecksumInfo)
        };
        let (response, _) = self.call(&request).await?;
        let info = response.get_container_checksum_info.unwrap_or_default();
        let info = dn::ContainerChecksumInfo::decode(info.container_checksum_info())
            .map_err(|error| SourceError::Odd(format!("no tree: {error}")))?;
        if info.container_id != container_id {
            return Err(SourceError::Odd("the tree of another container".to_owned()));
        }
        Ok(info.container_merkle_tree.unwrap_or_default())
    }

    /// A block's row.
    pub async fn block(&self, local: LocalId) -> Result<dn::BlockData, SourceError> {
        let request = dn::ContainerCommandRequestProto {
            get_block: Some(dn::GetBlockRequestProto { block_id: self.block_id(local) }),
            ..self.request(dn::Type::GetBlock)
        };
        let (response, _) = self.call(&request).await?;
        let row = response.get_block.map(|block| block.block_data);
        let row = row.ok_or_else(|| SourceError::Odd("without the block".to_owned()))?;
        let (container, asked) = (self.container.to_wire(), local.to_wire());
        if (row.block_id.container_id, row.block_id.local_id) != (container, asked) {
            return Err(SourceError::Odd("another block".to_owned()));
        }
        Ok(row)
    }

    /// A chunk of a block, verified. It waits for clients of the source
    /// for `patience_ms` at most.
    pub async fn read(
        &self,
        local: LocalId,
        chunk: &dn::ChunkInfo,
        patience_ms: u64,
    ) -> Result<Bytes, SourceError> {
        let block_id = self.block_id(local);
        let request = dn::ContainerCommandRequestProto {
            read_chunk: Some(dn::ReadChunkRequestProto {
                block_id,
                chunk_data: dn::ChunkInfo { stripe_checksum: None, ..chunk.clone() },
                read_chunk_version: Some(dn::ReadChunkVersion::V1 as i32),
            }),
            patience_ms: Some(patience_ms),
            ..self.request(dn::Type::ReadChunk)
        };
        let (_, bytes) = self.call(&request).await?;
        if bytes.len() as u64 != chunk.len {
            return Err(SourceError::Odd(format!("{} of {} bytes", bytes.len(), chunk.len)));
        }
        if let Err(error) = checksum::verify(&chunk.checksum_data, &bytes) {
            self.report_damage(local);
            return Err(error.into());
        }
        Ok(bytes)
    }

    fn block_id(&self, local: LocalId) -> dn::DatanodeBlockId {
        dn::DatanodeBlockId {
            container_id: self.container.to_wire(),
            local_id: local.to_wire(),
            block_commit_sequence_id: Some(0),
            replica_index: Some(self.index),
        }
    }

    /// Requests a scan of the node's replica. The caller does not wait for that.
    fn report_damage(&self, local: LocalId) {
        let header = [self.container.0.to_be_bytes(), local.0.to_be_bytes()].concat();
        let client = self.client.clone();
        tokio::spawn(async move {
            let method = proto::method::REPORT_DAMAGE;
            let told = client.call(method, header.into(), Bytes::new(), TIMEOUT).await;
            if let Err(error) = told {
                tracing::debug!(%error, "cannot report damage");
            }
        });
    }

    fn request(&self, kind: dn::Type) -> dn::ContainerCommandRequestProto {
        dn::ContainerCommandRequestProto {
            cmd_type: kind as i32,
            container_id: self.container.to_wire(),
            datanode_uuid: self.node.id.to_string(),
            for_repair: Some(true),
            ..Default::default()
        }
    }

    async fn call(
        &self,
        request: &dn::ContainerCommandRequestProto,
    ) -> Result<(dn::ContainerCommandResponseProto, Bytes), SourceError> {
        let (response, bytes) =
            framed::message::call_with_payload::<_, dn::ContainerCommandResponseProto>(
                &self.client,
                proto::method::CONTAINER,
                request,
                Bytes::new(),
                TIMEOUT,
            )
            .await?;
        match response.result() {
            dn::Result::Success => Ok((response, bytes)),
            code => {
                let message = response.message.unwrap_or_default();
                Err(SourceError::Refused { code, message })
            }
        }
    }
}
