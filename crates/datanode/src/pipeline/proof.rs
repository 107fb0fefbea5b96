//! The question of a lagging replica to the others: was this block deleted? It is sent like a fetch
//! of a payload, as a GetBlock, which is never replicated itself.

use bytes::Bytes;
use prost::Message;
use proto::datanode::{ContainerCommandRequestProto, GetBlockRequestProto, Type};
use types::BlockId;

/// The response of a node that has recorded the deletion; a node without that record sends none.
pub(super) const DELETED: Bytes = Bytes::from_static(b"deleted");

/// Returns the question for a block, whose block commit sequence id is the index of its entry.
pub(super) fn question(block: BlockId) -> Bytes {
    let request = ContainerCommandRequestProto {
        cmd_type: Type::GetBlock as i32,
        container_id: block.container.to_wire(),
        get_block: Some(GetBlockRequestProto { block_id: block.to_datanode(0) }),
        ..Default::default()
    };
    request.encode_to_vec().into()
}

/// Returns the block of the question, if this is one.
pub(super) fn block_of(request: &ContainerCommandRequestProto) -> Option<BlockId> {
    Some(BlockId::from_datanode(&request.get_block.as_ref()?.block_id))
}
