//! Work of the payload store for a command.

use proto::datanode::{BlockData, ChunkInfo, ContainerCommandRequestProto, DatanodeBlockId};
use types::BlockId;

/// Work of the payload store for a command.
pub(super) struct Work {
    pub block: BlockId,
    pub replica_index: i32,
    /// Chunk to write.
    pub chunk: Option<ChunkInfo>,
    /// Block to make durable.
    pub put: Option<BlockData>,
    /// Nothing more comes for the block.
    pub eof: bool,
}

impl Work {
    /// `None` for a command without bytes.
    pub fn of(request: &ContainerCommandRequestProto) -> Option<Self> {
        let new = |id: &DatanodeBlockId, chunk, put: Option<&BlockData>, eof| Self {
            block: BlockId::from_datanode(id),
            replica_index: id.replica_index(),
            chunk,
            put: put.cloned(),
            eof,
        };
        if let Some(write) = &request.write_chunk {
            let put = write.block.as_ref();
            let eof = put.is_some_and(|put| put.eof.unwrap_or(true));
            let data = put.map(|put| &put.block_data);
            return Some(new(&write.block_id, write.chunk_data.clone(), data, eof));
        }
        if let Some(put) = &request.put_block {
            let eof = put.eof.unwrap_or(true);
            return Some(new(&put.block_data.block_id, None, Some(&put.block_data), eof));
        }
        let small = request.put_small_file.as_ref()?;
        let data = &small.block.block_data;
        Some(new(&data.block_id, Some(small.chunk_info.clone()), Some(data), true))
    }
}
