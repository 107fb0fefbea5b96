//! Values of a DataNode's `container.db`.

use proto::datanode::{BlockData, ChecksumData, ChecksumType, ChunkInfo, KeyValue};
use serde_json::{Map, Value, json};

use super::{add, hex};

pub(super) fn block(block: &BlockData) -> Value {
    let id = &block.block_id;
    json!({
        "blockID": {
            "containerBlockID": { "containerID": id.container_id, "localID": id.local_id },
            "blockCommitSequenceId": id.block_commit_sequence_id(),
        },
        "metadata": map(&block.metadata),
        "chunkList": block.chunks.iter().map(chunk).collect::<Vec<_>>(),
        "size": block.size(),
    })
}

fn map(entries: &[KeyValue]) -> Value {
    let entries = entries.iter().map(|kv| (kv.key.clone(), kv.value().into()));
    entries.collect::<Map<_, _>>().into()
}

fn chunk(chunk: &ChunkInfo) -> Value {
    let sums = &chunk.checksum_data;
    let kind = ChecksumType::try_from(sums.r#type).map_or("UNKNOWN", |kind| kind.as_str_name());
    let mut shown = json!({
        "chunkName": chunk.chunk_name,
        "offset": chunk.offset,
        "len": chunk.len,
        "metadata": map(&chunk.metadata),
        "checksumData": {
            "type": kind,
            "bytesPerChecksum": sums.bytes_per_checksum,
            "checksums": sums.checksums.iter().map(|sum| hex(sum)).collect::<Vec<_>>(),
        },
    });
    add(&mut shown, "stripeChecksum", chunk.stripe_checksum.as_ref().map(|sums| hex(sums)));
    shown
}

pub(super) fn example_block() -> BlockData {
    let sums = ChecksumData { checksums: vec![Default::default()], ..ChecksumData::default() };
    let chunk = ChunkInfo {
        checksum_data: sums,
        stripe_checksum: Some(Default::default()),
        ..ChunkInfo::default()
    };
    BlockData { chunks: vec![chunk], ..BlockData::default() }
}
