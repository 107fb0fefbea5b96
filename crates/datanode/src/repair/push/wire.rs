//! Messages of a copy. They go between our own DataNodes only.

use bytes::Bytes;
use container::ContainerState;
use prost::Message;
use proto::datanode::ChunkInfo;
use types::{LocalId, StorageType};

use containerstore::transfer::{Manifest, Part};

/// A step of a copy.
#[derive(Clone, PartialEq, Message)]
pub struct PushRequest {
    /// The container.
    #[prost(uint64, tag = "1")]
    pub container: u64,
    /// The attempt: steps of an earlier one are refused.
    #[prost(uint64, tag = "2")]
    pub attempt: u64,
    /// The first step.
    #[prost(message, optional, tag = "3")]
    pub begin: Option<BeginProto>,
    /// Parts, whose bytes follow one another separate from the message.
    #[prost(message, repeated, tag = "4")]
    pub parts: Vec<PartProto>,
    /// The last step.
    #[prost(message, optional, tag = "5")]
    pub finish: Option<FinishProto>,
    /// Received blocks that are to be removed from the copy.
    #[prost(uint64, repeated, tag = "6")]
    pub dropped: Vec<u64>,
    /// Longest wait for clients.
    #[prost(uint64, optional, tag = "7")]
    pub patience_ms: Option<u64>,
}

/// The container to be sent.
#[derive(Clone, PartialEq, Message)]
pub struct BeginProto {
    /// Name of the state, as in `.container` files.
    #[prost(string, tag = "1")]
    pub state: String,
    /// The pipeline it was written by.
    #[prost(string, optional, tag = "2")]
    pub pipeline: Option<String>,
    /// The node that made it first.
    #[prost(string, tag = "3")]
    pub origin: String,
    /// Index in an EC group.
    #[prost(int32, tag = "4")]
    pub replica_index: i32,
    /// Size at which it counted as full.
    #[prost(uint64, tag = "5")]
    pub max_size: u64,
    /// Block commit sequence id.
    #[prost(uint64, tag = "6")]
    pub bcsid: u64,
    /// Highest deletion transaction taken.
    #[prost(uint64, tag = "7")]
    pub delete_tx: u64,
    /// Bytes of its blocks.
    #[prost(uint64, tag = "8")]
    pub used: u64,
    /// The storage type of the disk that it belongs on (`StorageTypeProto`).
    #[prost(int32, optional, tag = "9")]
    pub storage_type: Option<i32>,
}

/// A part of the container.
#[derive(Clone, PartialEq, Message)]
pub struct PartProto {
    /// The block.
    #[prost(uint64, tag = "1")]
    pub local: u64,
    /// True if it is packed with others.
    #[prost(bool, tag = "2")]
    pub packed: bool,
    /// The chunk whose bytes these are.
    #[prost(message, optional, tag = "3")]
    pub chunk: Option<ChunkInfo>,
    /// With the last chunk: the block's row.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub row: Option<Bytes>,
    /// Bytes of it outside of the message.
    #[prost(uint64, tag = "5")]
    pub length: u64,
}

/// True if all was sent.
#[derive(Clone, PartialEq, Message)]
pub struct FinishProto {
    /// Blocks that the copy must have.
    #[prost(uint64, tag = "1")]
    pub blocks: u64,
    /// Bytes of them.
    #[prost(uint64, tag = "2")]
    pub bytes: u64,
}

/// The answer to a step.
#[derive(Clone, PartialEq, Message)]
pub struct PushResponse {
    /// In response to the first step: the container is here already.
    #[prost(bool, tag = "1")]
    pub here: bool,
    /// In response to the first step: the last block received in an earlier attempt.
    #[prost(uint64, optional, tag = "2")]
    pub last: Option<u64>,
    /// Blocks that are here by now, and their bytes.
    #[prost(uint64, tag = "3")]
    pub blocks: u64,
    /// Bytes of the blocks that are here by now.
    #[prost(uint64, tag = "4")]
    pub bytes: u64,
    /// In response to the first step: the block after `last` of which some chunks arrived before.
    #[prost(uint64, optional, tag = "5")]
    pub partial: Option<u64>,
    /// Their number.
    #[prost(uint64, tag = "6")]
    pub partial_chunks: u64,
}

impl BeginProto {
    pub fn new(manifest: &Manifest) -> Self {
        Self {
            state: manifest.state.name().to_owned(),
            pipeline: manifest.pipeline.map(|id| id.to_string()),
            origin: manifest.origin.clone(),
            replica_index: manifest.replica_index,
            max_size: manifest.max_size,
            bcsid: manifest.bcsid,
            delete_tx: manifest.delete_tx,
            used: manifest.used,
            storage_type: manifest.storage_type.map(|of| of.to_wire() as i32),
        }
    }

    /// Returns the manifest; `None` if it is invalid.
    pub fn manifest(&self) -> Option<Manifest> {
        let state = self.state.parse().ok()?;
        if !matches!(state, ContainerState::Closed | ContainerState::QuasiClosed) {
            return None;
        }
        Some(Manifest {
            state,
            pipeline: self.pipeline.as_deref().map(str::parse).transpose().ok()?,
            origin: self.origin.clone(),
            replica_index: self.replica_index,
            max_size: self.max_size,
            bcsid: self.bcsid,
            delete_tx: self.delete_tx,
            used: self.used,
            storage_type: self.storage_type.map(StorageType::from_wire).transpose().ok()?,
        })
    }
}

impl PartProto {
    pub fn new(part: &Part) -> Self {
        Self {
            local: part.local.0,
            packed: part.packed,
            chunk: part.chunk.clone(),
            row: part.row.clone(),
            length: part.data.len() as u64,
        }
    }
}

/// The parts of a step with their bytes; `None` when the lengths do not fit.
pub fn parts(protos: Vec<PartProto>, mut payload: Bytes) -> Option<Vec<Part>> {
    let mut parts = Vec::with_capacity(protos.len());
    for p in protos {
        let length = usize::try_from(p.length).ok().filter(|n| *n <= payload.len())?;
        let data = payload.split_to(length);
        let (local, packed) = (LocalId(p.local), p.packed);
        parts.push(Part { local, packed, chunk: p.chunk, row: p.row, data });
    }
    payload.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_find_their_bytes_and_nothing_may_be_left_over() {
        let part = |local, data: &'static [u8]| Part {
            local: LocalId(local),
            packed: true,
            chunk: None,
            row: Some(Bytes::from_static(b"row")),
            data: Bytes::from_static(data),
        };
        let sent = [part(1, b"abc"), part(2, b""), part(3, b"de")];
        let protos: Vec<_> = sent.iter().map(PartProto::new).collect();
        assert_eq!(parts(protos.clone(), Bytes::from_static(b"abcde")).unwrap(), sent);
        for wrong in [&b"abcd"[..], b"abcdef", b""] {
            assert_eq!(parts(protos.clone(), Bytes::from_static(wrong)), None);
        }
    }

    #[test]
    fn only_closed_containers_are_copied() {
        let manifest = Manifest {
            state: ContainerState::QuasiClosed,
            pipeline: Some(types::PipelineId::random()),
            origin: "a-node".into(),
            replica_index: 0,
            max_size: 5,
            bcsid: 4,
            delete_tx: 3,
            used: 2,
            storage_type: Some(StorageType::Ssd),
        };
        let begin = BeginProto::new(&manifest);
        assert_eq!(begin.manifest(), Some(manifest));
        for (state, pipeline) in [("OPEN", None), ("ODD", None), ("CLOSED", Some("x".to_owned()))] {
            let odd = BeginProto { state: state.into(), pipeline, ..begin.clone() };
            assert_eq!(odd.manifest(), None);
        }
    }
}
