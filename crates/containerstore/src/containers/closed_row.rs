//! Contents of the `.container` file of a closed container, as a row.
//!
//! A start that reads a file and checks a folder for each of hundreds of thousands of containers
//! takes minutes on cold disks. The rows of a disk lie together. So a container that is CLOSED and
//! sealed is loaded from them, and the next scan of its metadata checks its files.
//!
//! # Invariants
//! * **The row is never CLOSED for a container whose file has another state**: it is put after the
//!   file, and is durably deleted before the file is written again.
//! * A container without the row, and one with a row of segments that a crash may have truncated,
//!   is read from its files. Those of one that lies on two disks are checked before one of the two
//!   is removed.

use container::ContainerState;
use container::segment::{SEGMENT_HEADER_LEN, SegmentInfo};
use metastore::{Batch, Durability, IterRange};
use prost::Message;
use rustc_hash::FxHashMap;
use types::{ContainerId, PipelineId};

use super::file::ContainerFile;
use super::{Container, Fixed, Sealed};
use crate::disk::Disk;
use crate::error::Result;
use crate::tables::{self, CLOSED, ClosedRow};

/// Reads all rows of a disk. One that does not decode is skipped: the file has the same contents.
pub(crate) fn read(disk: &Disk) -> Result<FxHashMap<ContainerId, ClosedRow>> {
    let mut rows = FxHashMap::default();
    let mut cursor = disk.db.iter(CLOSED, IterRange::all())?;
    cursor.first();
    cursor.for_each(|key, value| {
        match (tables::container_of(key), ClosedRow::decode(value)) {
            (Some(id), Ok(row)) => _ = rows.insert(id, row),
            (id, outcome) => {
                let error = outcome.err().map(|error| error.to_string());
                tracing::warn!(container = ?id, error, "row of a closed container is damaged");
            }
        }
        true
    })?;
    Ok(rows)
}

/// Removes the row, durably. Blocks.
pub(crate) fn forget(disk: &Disk, id: ContainerId) -> Result<()> {
    let key = tables::prefix(id);
    if disk.db.contains(CLOSED, &key)? {
        let mut batch = Batch::new();
        batch.delete(CLOSED, key);
        disk.db.write(batch, Durability::Sync)?;
    }
    Ok(())
}

/// Returns the contents of the file, from the row.
pub(crate) fn to_file(id: ContainerId, row: &ClosedRow) -> Option<ContainerFile> {
    let pipeline = match &row.pipeline[..] {
        [] => None,
        bytes => Some(PipelineId(uuid::Uuid::from_slice(bytes).ok()?)),
    };
    Some(ContainerFile {
        id,
        state: ContainerState::Closed,
        fixed: Fixed {
            pipeline,
            origin: row.origin.clone(),
            replica_index: row.replica_index,
            max_size: row.max_size,
        },
        sealed: Some(Sealed { bcsid: row.bcsid, delete_tx: row.delete_tx }),
    })
}

/// Returns `true` if rows contain all data of a container's segments that a start needs: their
/// files have all their bytes, and none may be deleted already.
pub(crate) fn are_whole<'a>(mut segments: impl Iterator<Item = &'a SegmentInfo>) -> bool {
    segments.all(|info| info.durable >= SEGMENT_HEADER_LEN && info.live_records > 0)
}

impl Container {
    /// Puts the row of a container that is CLOSED in its file, too. The caller ensures that the
    /// file is not written meanwhile. Without the row the next start reads the file.
    pub(crate) fn note_closed(&self) {
        let (ContainerState::Closed, Some(sealed)) = (self.state(), self.sealed()) else { return };
        let pipeline = self.fixed.pipeline.map(|id| id.0.as_bytes().to_vec());
        let row = ClosedRow {
            pipeline: pipeline.unwrap_or_default(),
            origin: self.fixed.origin.clone(),
            replica_index: self.fixed.replica_index,
            max_size: self.fixed.max_size,
            bcsid: sealed.bcsid,
            delete_tx: sealed.delete_tx,
        };
        let mut batch = Batch::new();
        batch.put(CLOSED, tables::prefix(self.id), row.encode_to_vec());
        if let Err(error) = self.disk.db.write(batch, Durability::NoWal) {
            tracing::warn!(container = %self.id, %error, "cannot write container row; next start will read the file");
        }
    }
}
