//! Chunks and blocks: the bytes before the log, and reading what is committed.

mod cached;
mod direct;
mod read;
mod stream;
mod verify;
mod write;

use proto::datanode::GetCommittedBlockLengthResponseProto;
use types::BlockId;

pub use stream::Piece;

/// A block after a PutBlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The block, with the commit's sequence id.
    pub block: BlockId,
    /// Its length.
    pub length: u64,
    /// Its replica's index in an EC group, else 0.
    pub replica_index: i32,
}

impl Committed {
    /// Returns the response to clients.
    pub fn to_wire(self) -> GetCommittedBlockLengthResponseProto {
        GetCommittedBlockLengthResponseProto {
            block_id: self.block.to_datanode(self.replica_index),
            block_length: i64::try_from(self.length).unwrap_or(i64::MAX),
        }
    }
}
