//! A snapshot of a pipeline, for a replica that lags behind the trimmed log: the list of containers
//! and blocks, without their bytes. The lagging replica compares the list with its own blocks, and
//! fetches only the missing ones from the other members.
//!
//! One file, [`FILE`]: the magic, then records of `kind: u8`, `length: u32` (little-endian),
//! CRC-32C of the bytes (big-endian), bytes. A container (kind 1, `ContainerDataProto`) is followed
//! by its blocks (kind 2, `BlockData`); kind 0 ends the list.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use container::checksum::compute_slice;
use prost::Message;
use proto::datanode::{BlockData, ChecksumType, ContainerDataProto};
use types::{ContainerId, LocalId};
use uuid::Uuid;

use containerstore::{ContainerStore, PipelineStore, StorageError};

/// Directory of a disk for snapshots under way.
pub(super) const SNAPSHOTS: &str = "raft-snapshots";

/// The only file of a snapshot.
pub(crate) const FILE: &str = "blocks";

const MAGIC: &[u8; 8] = b"TXPIPE\x00\x01";
const END: u8 = 0;
const CONTAINER: u8 = 1;
const BLOCK: u8 = 2;

/// Longest record: a block of 256 MiB in chunks of 16 KiB has some megabytes of chunk records.
const MAX_RECORD: u32 = 64 << 20;

/// Blocks listed at a time.
const PAGE: usize = 1_000;

/// Bytes of the rows listed at a time, about.
const PAGE_BYTES: usize = 8 << 20;

/// Errors of making or using a snapshot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotError {
    /// Its file.
    #[error("snapshot file: {0}")]
    Io(#[from] io::Error),
    /// Its content.
    #[error("snapshot is malformed: {0}")]
    Malformed(String),
    /// The disk that it is of, or for.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A block that it names could not be had.
    #[error("block of the snapshot: {0}")]
    Block(#[from] crate::command::Failure),
}

/// Item of a snapshot's list.
pub(crate) enum Item {
    /// A container; its blocks follow.
    Container(ContainerDataProto),
    /// A block of the container before it.
    Block(BlockData),
}

/// Lists a pipeline's containers and blocks into a new directory under `parent`.
pub(crate) fn create(
    store: &ContainerStore,
    pipeline: &PipelineStore,
    parent: &Path,
) -> Result<PathBuf, SnapshotError> {
    let dir = parent.join(format!("snapshot-{}", Uuid::new_v4()));
    std::fs::create_dir_all(&dir)?;
    let mut out = BufWriter::new(File::create(dir.join(FILE))?);
    out.write_all(MAGIC)?;
    for id in pipeline.containers() {
        // A container deleted meanwhile is skipped.
        let Ok(container) = store.container(id) else { continue };
        put(&mut out, CONTAINER, &container.to_wire().encode_to_vec())?;
        list(store, id, |block| Ok(put(&mut out, BLOCK, &block.encode_to_vec())?))?;
    }
    put(&mut out, END, &[])?;
    out.flush()?;
    Ok(dir)
}

fn list(
    store: &ContainerStore,
    id: ContainerId,
    mut each: impl FnMut(&BlockData) -> Result<(), SnapshotError>,
) -> Result<(), SnapshotError> {
    let mut after = None;
    loop {
        let page = store.list_block_after(id, after, PAGE, PAGE_BYTES)?;
        page.iter().try_for_each(&mut each)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(LocalId::from_wire(last.block_id.local_id));
    }
}

fn put(out: &mut impl Write, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    out.write_all(&[kind])?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&compute_slice(ChecksumType::Crc32c, bytes))?;
    out.write_all(bytes)
}

/// Reads the items of a snapshot one by one.
pub(crate) struct Items<R> {
    input: R,
    ended: bool,
}

impl Items<BufReader<File>> {
    /// Opens the snapshot in a directory.
    pub fn open(dir: &Path) -> Result<Self, SnapshotError> {
        Self::new(BufReader::new(File::open(dir.join(FILE))?))
    }
}

impl<R: Read> Items<R> {
    pub fn new(mut input: R) -> Result<Self, SnapshotError> {
        let mut magic = [0; 8];
        input.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Err(SnapshotError::Malformed("it does not begin as one".to_owned()));
        }
        Ok(Self { input, ended: false })
    }

    fn read(&mut self) -> Result<Option<Item>, SnapshotError> {
        let mut head = [0; 9];
        self.input.read_exact(&mut head)?;
        let [kind, a, b, c, d, sum @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]);
        if length > MAX_RECORD {
            return Err(SnapshotError::Malformed(format!("a record of {length} bytes")));
        }
        // Memory is allocated for the bytes received, not for the length that a damaged record
        // declares.
        let mut bytes = Vec::new();
        self.input.by_ref().take(length.into()).read_to_end(&mut bytes)?;
        if bytes.len() < length as usize {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        if compute_slice(ChecksumType::Crc32c, &bytes)[..] != sum {
            return Err(SnapshotError::Malformed("a record is damaged".to_owned()));
        }
        let malformed = |error: prost::DecodeError| SnapshotError::Malformed(error.to_string());
        match kind {
            END => Ok(None),
            CONTAINER => ContainerDataProto::decode(&bytes[..])
                .map(|container| Some(Item::Container(container)))
                .map_err(malformed),
            BLOCK => BlockData::decode(&bytes[..])
                .map(|block| Some(Item::Block(block)))
                .map_err(malformed),
            other => Err(SnapshotError::Malformed(format!("a record of kind {other}"))),
        }
    }
}

impl<R: Read> Iterator for Items<R> {
    type Item = Result<Item, SnapshotError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.read().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let container = ContainerDataProto { container_id: 7, ..Default::default() };
        put(&mut out, CONTAINER, &container.encode_to_vec()).unwrap();
        let block = BlockData { size: Some(3), ..Default::default() };
        put(&mut out, BLOCK, &block.encode_to_vec()).unwrap();
        put(&mut out, END, &[]).unwrap();
        out
    }

    #[test]
    fn a_snapshot_is_read_as_it_was_written() {
        let items: Vec<_> = Items::new(&snapshot()[..]).unwrap().map(Result::unwrap).collect();
        assert!(matches!(&items[0], Item::Container(container) if container.container_id == 7));
        assert!(matches!(&items[1], Item::Block(block) if block.size == Some(3)));
        assert_eq!(items.len(), 2);
    }

    #[test]
    fn any_bytes_are_a_snapshot_or_refused() {
        let read = |data: &[u8]| {
            if let Ok(items) = Items::new(data) {
                // Each has some bytes: there are no more than that.
                assert!(items.count() <= data.len());
            }
        };
        testkit::fuzz(vec![("pipeline-snapshot", read, vec![snapshot()])]);
    }

    #[test]
    fn a_damaged_or_cut_snapshot_is_refused() {
        let whole = snapshot();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            let refused = Items::new(&damaged[..]).is_err()
                || Items::new(&damaged[..]).unwrap().any(|item| item.is_err());
            // A flipped kind of the last record is found by its length or sum, or is another end.
            assert!(refused, "byte {at}");
            let cut = Items::new(&whole[..at]);
            assert!(cut.is_err() || cut.unwrap().any(|item| item.is_err()), "cut at {at}");
        }
    }
}
