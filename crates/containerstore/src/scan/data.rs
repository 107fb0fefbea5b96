//! The bytes of a container's blocks.

use std::sync::Arc;

use bytes::Bytes;
use container::checksum;
use container::chunks;
use proto::datanode::{ChecksumType, ChunkInfo};
use types::{BlockId, LocalId};

use super::judge::{judge, of_system};
use super::metadata::length;
use super::{Found, Pace, ScanKind, blocking, rows};
use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::merkle::Damage;
use crate::read_timeout::ReadTimeout;
use crate::tables::{Packed, StoredBlock};

/// Bytes read at a time: a client's read waits for no more than that.
const PIECE: u64 = 1 << 20;

/// Attempts to read a block again that was moved, or extended, while it was read. Each time its row
/// was another one, so none of them is evidence.
const TRIES: usize = 5;

/// A scan of a container's blocks.
struct Reader<'a> {
    container: &'a Arc<Container>,
    kind: ScanKind,
    pace: &'a dyn Pace,
}

/// The first thing that is wrong with the blocks of a replica.
pub(super) async fn first_damage(
    container: &Arc<Container>,
    kind: ScanKind,
    pace: &dyn Pace,
) -> Result<Found> {
    let id = container.id();
    let of = Arc::clone(container);
    match blocking(container, move || Ok(rows::check_count(&of))).await? {
        Ok(None) => {}
        Ok(Some(reason)) => return Ok(Found::Damage(reason)),
        Err(error) => return Ok(judge(id, &error)),
    }
    let reader = Reader { container, kind, pace };
    let mut last = None;
    loop {
        let (of, after) = (Arc::clone(container), last);
        let page = match blocking(container, move || Ok(of.rows_after(after))).await? {
            Ok(page) => page,
            Err(error) => return Ok(judge(id, &error)),
        };
        let Some((local, _)) = page.last() else { return Ok(Found::Nothing) };
        last = Some(*local);
        for (local, row) in page {
            if container.disk().failure().is_some()
                || container.is_replaying()
                || !kind.covers(container.state())
            {
                return Ok(Found::Moot);
            }
            match reader.damage_of(local, row).await {
                Found::Nothing => {}
                found => return Ok(found),
            }
        }
    }
}

/// Returns the chunks of a replica whose bytes differ from those written, by their blocks. `None`
/// if the replica is not to be judged now.
///
/// # Errors
/// When its rows cannot be read.
pub(crate) async fn damage_of_blocks(
    container: &Arc<Container>,
    pace: &dyn Pace,
) -> Result<Option<Damage>> {
    let kind = ScanKind::Reconcile;
    let reader = Reader { container, kind, pace };
    let (mut damage, mut last) = (Damage::default(), None);
    loop {
        let (of, after) = (Arc::clone(container), last);
        let page = blocking(container, move || of.rows_after(after)).await?;
        let Some((local, _)) = page.last() else {
            container.disk().scans.count(kind, !damage.is_empty());
            return Ok(Some(damage));
        };
        last = Some(*local);
        for (local, row) in page {
            if container.disk().failure().is_some()
                || container.is_replaying()
                || !kind.covers(container.state())
            {
                return Ok(None);
            }
            match reader.damage_of(local, row.clone()).await {
                Found::Nothing => {}
                Found::Moot => return Ok(None),
                Found::Damage(reason) => {
                    tracing::info!(container = %container.id(), block = %local, reason, "damaged block found");
                    damage.insert(local, reader.damaged_chunks(local, &row).await);
                }
            }
        }
    }
}

impl Reader<'_> {
    /// Returns the offsets of the damaged chunks of a damaged block; all of them if these are
    /// unknown.
    async fn damaged_chunks(&self, local: LocalId, row: &StoredBlock) -> Vec<u64> {
        let block = BlockId { container: self.container.id(), local, bcsid: row.bcsid() };
        let mut damaged = Vec::new();
        for chunk in row.chunks.iter().filter(|_| row.packed.is_none()) {
            if self.verify_chunk(block, chunk).await.is_err() {
                damaged.push(chunk.offset);
            }
        }
        if damaged.is_empty() {
            damaged = row.chunks.iter().map(|chunk| chunk.offset).collect();
        }
        damaged
    }

    /// Returns the damage of a block whose row has not changed.
    async fn damage_of(&self, local: LocalId, mut row: StoredBlock) -> Found {
        let id = self.container.id();
        for _ in 0..TRIES {
            let Err(error) = self.verify(local, &row).await else { return Found::Nothing };
            // Rows change before bytes are freed, and replay restores bytes after their rows.
            match self.container.block_row(local) {
                _ if self.container.is_replaying() => return Found::Moot,
                Ok(None) => return Found::Nothing,
                Ok(Some(now)) if now == row => return judge(id, &error),
                Ok(Some(now)) => row = now,
                Err(error) => return judge(id, &error),
            }
        }
        Found::Nothing
    }

    async fn verify(&self, local: LocalId, row: &StoredBlock) -> Result<()> {
        let block = BlockId { container: self.container.id(), local, bcsid: row.bcsid() };
        let expected = row.length();
        let found = chunks::validate_list(&row.clone().into_wire())
            .map_err(|error| StorageError::Chunks { block, error })?;
        if found != expected {
            return Err(StorageError::FileInconsistent { block, expected, found });
        }
        match row.packed {
            Some(packed) => self.verify_packed(block, row, packed).await,
            // A replica of an erasure-coded group may have none of a block's bytes, and no file.
            None if expected == 0 => Ok(()),
            None => self.verify_file(block, row, expected).await,
        }
    }

    async fn verify_packed(&self, block: BlockId, row: &StoredBlock, packed: Packed) -> Result<()> {
        let len = u64::from(packed.len);
        if len != row.length() {
            let (expected, found) = (row.length(), len);
            return Err(StorageError::FileInconsistent { block, expected, found });
        }
        self.pace.pass(self.container.disk(), len).await;
        let data = {
            let _reading = self.container.disk().scans.reading();
            self.container.read_packed(block.local, packed, ReadTimeout::Unlimited).await?
        };
        self.count(len);
        for chunk in &row.chunks {
            let outside = StorageError::NoSuchChunk { block, offset: chunk.offset, len: chunk.len };
            let from = usize::try_from(chunk.offset).ok();
            let to = usize::try_from(chunk.offset.saturating_add(chunk.len)).ok();
            let bytes = from.zip(to).and_then(|(from, to)| data.get(from..to)).ok_or(outside)?;
            checksum::verify(&chunk.checksum_data, bytes)
                .map_err(|error| StorageError::Checksum { block, error })?;
        }
        Ok(())
    }

    async fn verify_file(&self, block: BlockId, row: &StoredBlock, expected: u64) -> Result<()> {
        let (id, path) = (self.container.id(), self.container.block_path(block.local));
        let measure = move || length(&path).map_err(|error| of_system(id, &path, &error));
        let found = blocking(self.container, measure).await?;
        if found < expected {
            return Err(StorageError::FileInconsistent { block, expected, found });
        }
        for chunk in &row.chunks {
            self.verify_chunk(block, chunk).await?;
        }
        Ok(())
    }

    /// Reads a chunk in pieces that end where checksums do.
    async fn verify_chunk(&self, block: BlockId, chunk: &ChunkInfo) -> Result<()> {
        let sums = &chunk.checksum_data;
        let wrong = |error| StorageError::Checksum { block, error };
        let slice = if sums.r#type == ChecksumType::None as i32 {
            1
        } else {
            checksum::check_form(sums, chunk.len).map_err(wrong)?;
            u64::from(sums.bytes_per_checksum).max(1)
        };
        let piece = (PIECE / slice).max(1).saturating_mul(slice);
        let mut at = 0;
        while at < chunk.len {
            let len = piece.min(chunk.len - at);
            let data = self.read(block, chunk.offset.saturating_add(at), len).await?;
            let first = usize::try_from(at / slice).unwrap_or(usize::MAX);
            checksum::verify_part(sums, first, &data).map_err(wrong)?;
            at += len;
        }
        Ok(())
    }

    async fn read(&self, block: BlockId, offset: u64, len: u64) -> Result<Bytes> {
        let (id, disk) = (self.container.id(), self.container.disk());
        self.pace.pass(disk, len).await;
        let length =
            usize::try_from(len).map_err(|_| StorageError::NoSuchChunk { block, offset, len })?;
        let _reading = disk.scans.reading();
        let path = self.container.block_path(block.local);
        let data = disk.io.read_once(path, offset, length).await.map_err(StorageError::io(id))?;
        self.count(len);
        Ok(data)
    }

    fn count(&self, bytes: u64) {
        self.container.disk().scans.count_bytes(self.kind, bytes);
    }
}
