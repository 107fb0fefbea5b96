//! Tables of a disk's `container.db`, and the forms of their keys and values.
//!
//! Names and forms are those of Ozone's schema V3: keys start with the container id, eight bytes
//! big-endian, and `|`. Ours are `segments`, `deleted_early`, `closed` and `pipelines`.

use container::segment::SegmentInfo;
use metastore::{Preset, Table, TableSpec};
use prost::Message;
use prost::encoding;
use proto::datanode::{BlockData, ChunkInfo, DatanodeBlockId, KeyValue};
use types::{ContainerId, LocalId, PipelineId};

use crate::error::{Result, StorageError};
use crate::position::Position;

/// Blocks: `<localID>` in decimal → BlockData.
pub(crate) const BLOCK_DATA: Table = Table::named("block_data");
/// Sums per container: `#…` → int64.
pub(crate) const METADATA: Table = Table::named("metadata");
/// Deletion transactions to be carried out: tx id, eight bytes → DeletedBlocksTransaction.
pub(crate) const DELETE_TXNS: Table = Table::named("delete_txns");
/// Segment files: number, four bytes → [`SegmentInfo`].
pub(crate) const SEGMENTS: Table = Table::named("segments");
/// Blocks deleted before this replica had them: `<localID>` → nothing, or an index of the log.
pub(crate) const DELETED_EARLY: Table = Table::named("deleted_early");
/// Contents of the `.container` files of closed containers: nothing → [`ClosedRow`].
pub(crate) const CLOSED: Table = Table::named("closed");
/// Pipelines: id, kind of position → [`Position`]. The one table not keyed by container.
pub(crate) const PIPELINES: Table = Table::named("pipelines");

/// All tables.
pub(crate) const TABLES: [TableSpec; 7] = [
    TableSpec::new("block_data", Preset::Scan),
    TableSpec::new("metadata", Preset::Small),
    TableSpec::new("delete_txns", Preset::Queue),
    TableSpec::new("segments", Preset::Small),
    TableSpec::new("deleted_early", Preset::Queue),
    TableSpec::new("closed", Preset::Small),
    TableSpec::new("pipelines", Preset::Small),
];

/// Tables whose rows go.
pub const TABLES_WITH_DELETIONS: [Table; 3] = [BLOCK_DATA, DELETE_TXNS, DELETED_EARLY];

/// Tables whose keys start with a container.
pub(crate) const PER_CONTAINER: [Table; 6] =
    [BLOCK_DATA, METADATA, DELETE_TXNS, SEGMENTS, DELETED_EARLY, CLOSED];

/// Keys of the metadata table.
pub(crate) const BCSID: &str = "#BCSID";
/// Blocks in the container.
pub(crate) const BLOCK_COUNT: &str = "#BLOCKCOUNT";
/// Bytes of blocks in the container.
pub(crate) const BYTES_USED: &str = "#BYTESUSED";
/// Blocks that deletion transactions name.
pub(crate) const PENDING_DELETE: &str = "#PENDINGDELETEBLOCKCOUNT";
/// Highest deletion transaction taken.
pub(crate) const DELETE_TX: &str = "#delTX";
/// The checksum of its Merkle tree, if it is known; see [`container::merkle`].
pub(crate) const DATA_CHECKSUM: &str = "#DATACHECKSUM";
/// Time of the last full read of the container, in milliseconds since 1970.
pub(crate) const SCANNED: &str = "#DATASCANTIMESTAMP";

const SEPARATOR: u8 = b'|';

/// Returns the prefix of all keys of a container.
pub(crate) fn prefix(container: ContainerId) -> Vec<u8> {
    let mut key = Vec::with_capacity(32);
    key.extend_from_slice(&container.0.to_be_bytes());
    key.push(SEPARATOR);
    key
}

/// The first key after all keys of a container.
pub(crate) fn prefix_end(container: ContainerId) -> Vec<u8> {
    let mut key = container.0.to_be_bytes().to_vec();
    key.push(SEPARATOR + 1);
    key
}

/// The container a key belongs to.
pub(crate) fn container_of(key: &[u8]) -> Option<ContainerId> {
    let (id, rest) = key.split_first_chunk::<8>()?;
    (rest.first() == Some(&SEPARATOR)).then(|| ContainerId(u64::from_be_bytes(*id)))
}

/// Key of a block, in `block_data` and `deleted_early`.
pub(crate) fn block_key(container: ContainerId, local: LocalId) -> Vec<u8> {
    let mut key = prefix(container);
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut n = local.0;
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    key.extend_from_slice(&digits[at..]);
    key
}

/// The block in a key made by [`block_key`].
pub(crate) fn block_of(key: &[u8]) -> Option<LocalId> {
    std::str::from_utf8(key.get(9..)?).ok()?.parse().ok().map(LocalId)
}

/// Key in the metadata table.
pub(crate) fn metadata_key(container: ContainerId, name: &str) -> Vec<u8> {
    let mut key = prefix(container);
    key.extend_from_slice(name.as_bytes());
    key
}

/// Key of a deletion transaction.
pub(crate) fn tx_key(container: ContainerId, tx: i64) -> Vec<u8> {
    let mut key = prefix(container);
    key.extend_from_slice(&tx.to_be_bytes());
    key
}

/// Key of a segment.
pub(crate) fn segment_key(container: ContainerId, number: u32) -> Vec<u8> {
    let mut key = prefix(container);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Reads a row of `segments`.
pub(crate) fn read_segment(key: &[u8], value: &[u8]) -> Result<(ContainerId, u32, SegmentInfo)> {
    let container = container_of(key).unwrap_or_default();
    let bad = |why: String| StorageError::row(container, "segments", why);
    let number = key.get(9..).and_then(|n| <[u8; 4]>::try_from(n).ok());
    let number = u32::from_be_bytes(number.ok_or_else(|| bad("key".into()))?);
    let info = SegmentInfo::decode(value).map_err(|e| bad(e.to_string()))?;
    Ok((container, number, info))
}

/// Contents of the `.container` file of a closed container. A start that finds this row need not
/// read the file.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ClosedRow {
    /// Id of the pipeline that created it, 16 bytes; empty if there was none.
    #[prost(bytes = "vec", tag = "1")]
    pub pipeline: Vec<u8>,
    /// The node that made it first.
    #[prost(string, tag = "2")]
    pub origin: String,
    /// Its index in an EC group, else 0.
    #[prost(int32, tag = "3")]
    pub replica_index: i32,
    /// Size at which it counts as full.
    #[prost(uint64, tag = "4")]
    pub max_size: u64,
    /// Minimum of its rows' counts when it was sealed.
    #[prost(uint64, tag = "5")]
    pub bcsid: u64,
    /// The same.
    #[prost(uint64, tag = "6")]
    pub delete_tx: u64,
}

/// A number of the metadata table.
pub(crate) fn read_number(container: ContainerId, value: &[u8]) -> Result<u64> {
    let bytes = <[u8; 8]>::try_from(value)
        .map_err(|_| StorageError::row(container, "metadata", "not eight bytes"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Kind of a pipeline's position in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Applied entries of the tables, in the same batch as their effects.
    Applied,
    /// Entries that are durable with all their bytes: replay starts after them.
    Durable,
}

/// Key of a pipeline's position.
pub(crate) fn pipeline_key(id: PipelineId, reach: Reach) -> Vec<u8> {
    let mut key = id.0.as_bytes().to_vec();
    key.push(match reach {
        Reach::Applied => b'a',
        Reach::Durable => b'd',
    });
    key
}

/// Reads a row of `pipelines`.
pub(crate) fn read_pipeline(key: &[u8], value: &[u8]) -> Option<(PipelineId, Reach, Position)> {
    let (id, reach) = key.split_first_chunk::<16>()?;
    let reach = match reach {
        b"a" => Reach::Applied,
        b"d" => Reach::Durable,
        _ => return None,
    };
    Some((PipelineId(uuid::Uuid::from_bytes(*id)), reach, Position::decode(value)?))
}

/// Place of a packed block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub(crate) struct Packed {
    /// Number of the segment.
    #[prost(uint32, tag = "1")]
    pub segment: u32,
    /// Start of its record.
    #[prost(uint64, tag = "2")]
    pub offset: u64,
    /// Length of its bytes.
    #[prost(uint32, tag = "3")]
    pub len: u32,
}

/// A row of `block_data`: Ozone's BlockData and, in fields that others skip, where it is packed and
/// whether it is finalized.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredBlock {
    #[prost(message, required, tag = "1")]
    pub block_id: DatanodeBlockId,
    #[prost(int64, optional, tag = "2")]
    pub flags: Option<i64>,
    #[prost(message, repeated, tag = "3")]
    pub metadata: Vec<KeyValue>,
    #[prost(message, repeated, tag = "4")]
    pub chunks: Vec<ChunkInfo>,
    #[prost(int64, optional, tag = "5")]
    pub size: Option<i64>,
    #[prost(message, optional, tag = "1000")]
    pub packed: Option<Packed>,
    /// It takes no writes any more: its writer was given up.
    #[prost(bool, tag = "1001")]
    pub finalized: bool,
}

const PACKED_TAG: u32 = 1000;

impl StoredBlock {
    /// Reads a row.
    pub fn read(container: ContainerId, value: &[u8]) -> Result<Self> {
        Self::decode(value).map_err(|e| StorageError::row(container, "block_data", e))
    }

    pub fn bcsid(&self) -> u64 {
        self.block_id.block_commit_sequence_id()
    }

    pub fn length(&self) -> u64 {
        u64::try_from(self.size.unwrap_or(0)).unwrap_or(0)
    }

    /// Returns the client's form.
    pub fn into_wire(self) -> BlockData {
        let Self { block_id, flags, metadata, chunks, size, packed: _, finalized: _ } = self;
        BlockData { block_id, flags, metadata, chunks, size }
    }
}

/// The value of a row, straight from the request: no clone of its chunks.
pub(crate) fn encode_block(
    block: &BlockData,
    bcsid: u64,
    length: u64,
    packed: Option<&Packed>,
) -> Vec<u8> {
    let id = DatanodeBlockId { block_commit_sequence_id: Some(bcsid), ..block.block_id };
    let size = i64::try_from(length).unwrap_or(i64::MAX);
    let mut out = Vec::with_capacity(block.encoded_len() + 48);
    encoding::message::encode(1, &id, &mut out);
    if let Some(flags) = &block.flags {
        encoding::int64::encode(2, flags, &mut out);
    }
    encoding::message::encode_repeated(3, &block.metadata, &mut out);
    encoding::message::encode_repeated(4, &block.chunks, &mut out);
    encoding::int64::encode(5, &size, &mut out);
    if let Some(packed) = packed {
        encoding::message::encode(PACKED_TAG, packed, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_ozones_form() {
        let key = block_key(ContainerId(0x0102), LocalId(1_234_567));
        assert_eq!(key, b"\0\0\0\0\0\0\x01\x02|1234567");
        assert_eq!(block_of(&key), Some(LocalId(1_234_567)));
        assert_eq!(container_of(&key), Some(ContainerId(0x0102)));
        assert_eq!(block_key(ContainerId(1), LocalId(0)), b"\0\0\0\0\0\0\0\x01|0");
        assert_eq!(metadata_key(ContainerId(1), BCSID), b"\0\0\0\0\0\0\0\x01|#BCSID");
        assert!(key < prefix_end(ContainerId(0x0102)));
    }

    #[test]
    fn a_packed_row_reads_as_plain_block_data_elsewhere() {
        let block = BlockData {
            block_id: DatanodeBlockId { container_id: 1, local_id: 2, ..Default::default() },
            metadata: vec![KeyValue { key: "TYPE".into(), value: Some("KEY".into()) }],
            chunks: vec![ChunkInfo {
                chunk_name: "2_chunk_1".into(),
                len: 9,
                ..Default::default()
            }],
            ..Default::default()
        };
        let packed = Packed { segment: 3, offset: 64, len: 9 };
        let row = encode_block(&block, 7, 9, Some(&packed));
        let stored = StoredBlock::read(ContainerId(1), &row).unwrap();
        assert_eq!((stored.bcsid(), stored.length(), stored.packed), (7, 9, Some(packed)));
        let plain = BlockData::decode(&row[..]).unwrap();
        assert_eq!(plain, stored.clone().into_wire());
        assert_eq!(plain.chunks, block.chunks);
        assert_eq!(plain.size, Some(9));
    }

    #[test]
    fn damaged_rows_are_errors() {
        assert!(StoredBlock::read(ContainerId(1), &[0xff; 7]).is_err());
        assert!(read_segment(b"short", &[]).is_err());
        assert!(read_number(ContainerId(1), &[1, 2]).is_err());
        assert!(read_pipeline(&[0; 17], &[0; 16]).is_none());
    }
}
