//! A DataNode's replica of a block, read from that DataNode alone.

use std::time::Duration;

use bytes::Bytes;
use container::checksum;
use erasure::{Codec, Scheme};
use framed::ClientPool;
use prost::Message;
use proto::datanode as dn;
use proto::datanode::Result as Code;
use types::replication::EcConfig;
use types::{BlockId, ContainerId, DatanodeDetails, PortName};

/// Time limit for a DataNode's response.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A replica of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// Its index, 0 for a full copy.
    pub index: u32,
    /// Its block commit sequence id.
    pub bcsid: u64,
    /// All its bytes.
    pub bytes: Bytes,
}

/// Reason for which there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// The DataNode returns that it does not exist.
    Nothing,
    /// It does not answer, or refuses to.
    Silent(String),
    /// Its data differs from its checksums.
    Wrong(String),
}

/// Reads a block's replica, and compares it with its checksums.
///
/// # Errors
/// When the DataNode has none, does not answer, or returns data that does not match its checksums.
pub async fn read(
    pool: &ClientPool,
    node: &DatanodeDetails,
    block: BlockId,
) -> Result<Replica, Absent> {
    let block_id = block.to_datanode(0);
    let get = dn::ContainerCommandRequestProto {
        cmd_type: dn::Type::GetBlock as i32,
        get_block: Some(dn::GetBlockRequestProto { block_id }),
        ..command(node, block.container)
    };
    let (answer, _) = call(pool, node, get, Bytes::new()).await?;
    let row = answer.get_block.unwrap_or_default().block_data;
    let mut bytes = Vec::new();
    for chunk in row.chunks {
        let read = dn::ContainerCommandRequestProto {
            cmd_type: dn::Type::ReadChunk as i32,
            read_chunk: Some(dn::ReadChunkRequestProto {
                block_id,
                chunk_data: chunk.clone(),
                read_chunk_version: Some(dn::ReadChunkVersion::V1 as i32),
            }),
            ..command(node, block.container)
        };
        match call(pool, node, read, Bytes::new()).await {
            Ok((_, data)) => {
                if let Err(error) = checksum::verify(&chunk.checksum_data, &data) {
                    return Err(Absent::Wrong(format!("chunk {}: {error}", chunk.chunk_name)));
                }
                bytes.extend_from_slice(&data);
            }
            Err(Absent::Nothing) => {
                return Err(Absent::Wrong(format!("no chunk {}", chunk.chunk_name)));
            }
            Err(absent) => return Err(absent),
        }
    }
    let index = u32::try_from(row.block_id.replica_index()).unwrap_or(0);
    let bcsid = row.block_id.block_commit_sequence_id();
    Ok(Replica { index, bcsid, bytes: bytes.into() })
}

/// The beginning of a command to a DataNode.
pub fn command(node: &DatanodeDetails, container: ContainerId) -> dn::ContainerCommandRequestProto {
    dn::ContainerCommandRequestProto {
        container_id: container.to_wire(),
        datanode_uuid: node.id.to_string(),
        ..Default::default()
    }
}

/// Has a DataNode carry out a command.
///
/// # Errors
/// When it does not answer, or the object does not exist.
pub async fn call(
    pool: &ClientPool,
    node: &DatanodeDetails,
    request: dn::ContainerCommandRequestProto,
    payload: Bytes,
) -> Result<(dn::ContainerCommandResponseProto, Bytes), Absent> {
    let silent = |why: String| Absent::Silent(why);
    let address = node.address(&PortName::Native);
    let client = pool.get(&address.ok_or_else(|| silent("no address".to_owned()))?);
    let header = request.encode_to_vec().into();
    let payload = if payload.is_empty() { Vec::new() } else { vec![payload] };
    let call = client.call_parts(proto::method::CONTAINER, header, payload, TIMEOUT);
    let reply = call.await.map_err(|error| silent(error.to_string()))?;
    let answer = dn::ContainerCommandResponseProto::decode(reply.header)
        .map_err(|error| silent(error.to_string()))?;
    match answer.result() {
        Code::Success => Ok((answer, reply.payload)),
        Code::ContainerNotFound | Code::NoSuchBlock => Err(Absent::Nothing),
        other => Err(silent(format!("{other:?} {}", answer.message()))),
    }
}

/// The bytes of each replica of a block group.
pub fn striped(config: EcConfig, data: &[u8]) -> Vec<Bytes> {
    let Ok(scheme) = Scheme::new(config) else { return Vec::new() };
    let codec = Codec::new(scheme);
    let mut replicas = vec![Vec::new(); scheme.total()];
    for stripe in data.chunks(scheme.stripe_size() as usize) {
        let mut cells: Vec<&[u8]> = stripe.chunks(scheme.chunk_size() as usize).collect();
        cells.resize(scheme.data(), &[]);
        let mut parity = vec![vec![0; cells[0].len()]; scheme.parity()];
        let mut out: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
        if codec.encode(&cells, &mut out).is_err() {
            return Vec::new();
        }
        let cells = cells.into_iter().chain(parity.iter().map(Vec::as_slice));
        for (replica, cell) in replicas.iter_mut().zip(cells) {
            replica.extend_from_slice(cell);
        }
    }
    replicas.into_iter().map(Bytes::from).collect()
}
