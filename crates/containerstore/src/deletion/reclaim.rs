//! Carrying out deletion transactions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use container::ContainerState;
use container::deletion;
use metastore::{Batch, Durability, IterRange};
use prost::Message;
use proto::scm_datanode::DeletedBlocksTransaction;
use scheduling::Rests;

use super::Reclaimed;
use super::free::{free_space, tidy_segments};
use crate::containers::{Container, DeletedBeforeWrite};
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::lock_order::OrderedMutex;
use crate::merkle::checksum_without;
use crate::store::{ContainerStore, Freed, Place, Rows, UnfreedSpace, Work};
use crate::tables::{self, BLOCK_DATA, DELETE_TXNS, DELETED_EARLY};

/// Blocks of one work while clients write: there is a pause between two.
const WORK: usize = 250;

impl ContainerStore {
    /// Carries out pending transactions, about `limit` blocks of each disk. Blocks.
    ///
    /// # Errors
    /// When a disk fails; the remaining blocks stay pending.
    pub fn reclaim(&self, limit: usize) -> Result<Reclaimed> {
        self.reclaim_portion(limit, None)
    }

    /// The same, concurrently with clients: the space is freed later, so that tables are flushed
    /// seldom, and segments are compacted in this share of the time. Blocks.
    ///
    /// # Errors
    /// When a disk fails; the remaining blocks stay pending.
    pub fn reclaim_beside_clients(&self, limit: usize, share: f64) -> Result<Reclaimed> {
        self.reclaim_portion(limit, Some(share))
    }

    fn reclaim_portion(&self, limit: usize, share: Option<f64>) -> Result<Reclaimed> {
        let mut total = Reclaimed::default();
        for (disk, unfreed) in self.disks_with_unfreed_space() {
            if disk.failure().is_some() {
                continue;
            }
            let done = self.reclaim_disk(disk, unfreed, limit.max(1), share)?;
            total.portion = total.portion.max(done.portion);
            total.blocks += done.blocks;
            total.bytes += done.bytes;
            total.compacted += done.compacted;
            total.dropped += done.dropped;
            total.with_rests += done.with_rests;
            total.more |= done.more;
        }
        Ok(total)
    }

    fn reclaim_disk(
        &self,
        disk: &Disk,
        unfreed: &OrderedMutex<UnfreedSpace>,
        limit: usize,
        share: Option<f64>,
    ) -> Result<Reclaimed> {
        let (mut done, later) = (Reclaimed::default(), share.is_some());
        let mut waiting = unfreed.lock();
        let mut portion = limit;
        if waiting.is_empty() || !waiting.is_covered(&disk.flushes) {
            done.portion = self.remove_rows_of(disk, limit, later, &mut waiting, &mut done);
            portion = portion.max(done.portion);
            if waiting.is_empty() {
                return Ok(done);
            }
            // From here on no crash brings the rows back; and no record that is punched then is
            // still waiting to be written.
            if !later || waiting.is_due() {
                disk.flush()?;
            }
            if later {
                // Blocks covered by a flush come with the next batch.
                done.more |= waiting.is_covered(&disk.flushes);
                return Ok(done);
            }
        }
        let (works, touched) = waiting.take(portion);
        // While clients write, there are rows that waited for this.
        done.more |= later || !waiting.is_empty();
        let (begun, mut rests) =
            (Instant::now(), share.map_or_else(Rests::none, Rests::with_share));
        let mut freed = Vec::new();
        for some in works {
            rests.rest();
            match self.free_space(&some) {
                Ok(true) => freed.push(some),
                // There may be a row to remove again.
                Ok(false) => {
                    waiting.keep(&some);
                    done.more = true;
                }
                Err(error) => {
                    // The transactions stay, and a later run repeats this.
                    let container = some.container.id();
                    tracing::error!(%container, %error, "cannot give back the space of deleted blocks");
                    waiting.keep(&some);
                    done.more = true;
                }
            }
        }
        for container in touched.iter().filter(|container| self.is_served(container)) {
            let end = end_of(&freed, container);
            let segment_size = self.options().segment_size;
            match tidy_segments(container, end, segment_size, &mut rests) {
                Ok((compacted, dropped)) => {
                    done.compacted += compacted;
                    done.dropped += dropped;
                }
                Err(error) => {
                    let container = container.id();
                    tracing::error!(%container, %error, "cannot give back the space of segments");
                    done.more = true;
                    freed.retain(|some| some.container.id() != container);
                }
            }
        }
        for some in &freed {
            rests.rest();
            let ended = waiting.may_end(some);
            // Transactions with remaining blocks are done once more.
            done.more |= ended.len() < some.rows.transactions.len();
            finish(some, &ended)?;
        }
        if later {
            done.with_rests = begun.elapsed();
        }
        Ok(done)
    }

    /// Removes the rows of `limit` blocks at most, and returns their number.
    fn remove_rows_of(
        &self,
        disk: &Disk,
        limit: usize,
        later: bool,
        waiting: &mut UnfreedSpace,
        done: &mut Reclaimed,
    ) -> usize {
        let ids = disk.deleting.lock().containers();
        let (mut removed, most) = (0usize, if later { WORK } else { limit });
        for id in ids {
            loop {
                let left = limit.saturating_sub(removed);
                if left == 0 {
                    done.more = true;
                    return removed;
                }
                // Removed meanwhile, with its rows.
                let Ok(container) = self.container(id) else { break };
                if container.disk().id() != disk.id() {
                    // Moved meanwhile: that disk has its transactions.
                    break;
                }
                let after = waiting.last_of(&container);
                let (some, more) = match remove_rows(&container, after, left.min(most)) {
                    Ok(Some(some)) => some,
                    Ok(None) => break,
                    // One bad container does not stop the others.
                    Err(error) => {
                        tracing::error!(container = %id, %error, "cannot delete blocks");
                        break;
                    }
                };
                removed = removed.saturating_add(some.rows.blocks.len().max(1));
                done.blocks += some.rows.freed.blocks;
                done.bytes += some.rows.freed.bytes;
                // SCM compares the replicas of a closed container by how many blocks they have:
                // with an old number of some it takes a fresh copy for the one that is not like the
                // others.
                if some.rows.freed.blocks > 0 && !container.state().is_live() {
                    self.note_changed(id);
                }
                self.leave_cache(id, &some.rows.blocks);
                // Because of the number of its notes.
                self.check_fullness(&container);
                waiting.add(some, &disk.flushes);
                // The rest of the batch exceeds a work.
                if !more || left <= most {
                    done.more |= more;
                    break;
                }
            }
        }
        removed
    }

    /// Returns `true` if the space is free; it is not if the replica was replaced, or a block has a
    /// row again: then its transaction is carried out again.
    fn free_space(&self, some: &Work) -> Result<bool> {
        let container = &some.container;
        if !self.is_served(container) {
            return Ok(false);
        }
        if container.block_rows(&some.rows.blocks)?.iter().any(Option::is_some) {
            return Ok(false);
        }
        // Threads that wait for a processor run first.
        std::thread::yield_now();
        free_space(&some.rows.freed, container, &some.rows.blocks)?;
        Ok(true)
    }
}

/// Returns the end of a container's deletions, with these works.
fn end_of(freed: &[Work], container: &Container) -> Option<Place> {
    let of_this = freed.iter().filter(|work| work.container.id() == container.id());
    of_this.filter_map(|work| work.rows.end).max()
}

/// Step two: removes the rows of the next blocks. Returns the work, and `true` if there is more;
/// `None` if it was removed or moved to another disk just now.
fn remove_rows(
    container: &Arc<Container>,
    after: Option<Place>,
    limit: usize,
) -> Result<Option<(Work, bool)>> {
    let (id, disk) = (container.id(), container.disk());
    let (pending, all) = pending(container, after, limit)?;
    if after.is_some() && pending.is_empty() {
        return Ok(None);
    }
    let first = pending.first().map(|tx| tx.tx_id);
    let done = after.filter(|after| Some(after.tx) == first).map_or(0, |after| after.blocks);
    let portion = deletion::next_portion(&pending, done, limit);
    let transactions: Vec<i64> =
        portion.finished.iter().filter_map(|i| Some(pending.get(*i)?.tx_id)).collect();
    let more = !all || portion.finished.len() < pending.len();
    let end = match (portion.part, first) {
        (Some(blocks), Some(tx)) => Some(Place { tx, blocks }),
        _ => transactions.last().map(|tx| Place::behind(*tx)),
    };

    let _commit = container.commit.lock();
    if container.state() == ContainerState::Deleted {
        return Ok(None);
    }
    let (live, logged) = (container.state().is_live(), has_log(container));
    let (mut freed, mut batch) = (Freed::default(), Batch::new());
    let (mut sums, mut segments, mut early) = (container.sums(), BTreeSet::new(), Vec::new());
    for (local, row) in portion.blocks.iter().zip(container.block_rows(&portion.blocks)?) {
        let key = tables::block_key(id, *local);
        // An entry of it may still follow: this replica may lag behind its log, or the block's
        // client continues writing.
        let may_come = live && (logged || row.is_none());
        if may_come && container.deleted_early(*local) != Some(DeletedBeforeWrite::All) {
            batch.put(DELETED_EARLY, key.clone(), DeletedBeforeWrite::All.encode());
            early.push(*local);
        }
        let Some(row) = row else { continue };
        sums.used = sums.used.saturating_sub(row.length());
        sums.blocks = sums.blocks.saturating_sub(1);
        sums.checksum = checksum_without(sums.checksum, *local, &row);
        freed.add(&row);
        if let Some(packed) = row.packed {
            container.unplace(&packed);
            segments.insert(packed.segment);
        }
        batch.delete(BLOCK_DATA, key);
    }
    sums.put_changed(container, &mut batch);
    container.put_segment_rows(segments, &mut batch);
    disk.db.write(batch, durability(container))?;
    container.set_sums(sums);
    container.note_deleted_early(early, DeletedBeforeWrite::All);
    container.note_deletion();
    let container = Arc::clone(container);
    let rows = Rows { transactions, end, blocks: portion.blocks, freed };
    Ok(Some((Work { container, rows }, more)))
}

/// Changes that a pipeline's log restores have no entries in the database's log. Blocks put without
/// a pipeline are counted in the database's log: decrements must be logged there, too, before later
/// increments.
fn durability(container: &Container) -> Durability {
    let is_live = container.state().is_live();
    if is_live && !has_log(container) { Durability::Wal } else { Durability::NoWal }
}

/// Returns `true` if a pipeline's log may still write to it.
fn has_log(container: &Container) -> bool {
    let pipelines = container.disk().pipelines.lock();
    container.pipeline().is_some_and(|id| pipelines.contains_key(&id))
}

/// Returns the container's oldest transactions that are not done at `after`, of `limit` blocks and
/// more, and `true` if these are all. At most `limit` are read. The keys before the first one that
/// may exist are skipped: rows of many transactions were deleted there.
pub(super) fn pending(
    container: &Container,
    after: Option<Place>,
    limit: usize,
) -> Result<(Vec<DeletedBlocksTransaction>, bool)> {
    let id = container.id();
    let mut found = Vec::new();
    let range = IterRange::prefix(tables::prefix(id));
    let mut cursor = container.disk().db.iter(DELETE_TXNS, range)?;
    match after {
        Some(after) if after.is_inside() => cursor.seek(&tables::tx_key(id, after.tx)),
        Some(after) => cursor.seek(&tables::tx_key(id, after.tx.saturating_add(1))),
        None => {
            let first = container.disk().deleting.lock().first_of(id);
            cursor.seek(&tables::tx_key(id, first));
        }
    }
    let done = after.filter(|after| after.is_inside());
    let mut blocks = 0usize;
    while found.len() < limit && blocks < limit {
        let Some((_, value)) = cursor.row()? else { return Ok((found, true)) };
        let tx = DeletedBlocksTransaction::decode(value)
            .map_err(|e| StorageError::row(id, "delete_txns", e))?;
        let before = done.filter(|done| done.tx == tx.tx_id).map_or(0, |done| done.blocks);
        blocks = blocks.saturating_add(tx.local_id.len().saturating_sub(before));
        found.push(tx);
        cursor.next();
    }
    Ok((found, cursor.row()?.is_none()))
}

/// Step four: the transactions are done.
fn finish(work: &Work, transactions: &[i64]) -> Result<()> {
    let (container, disk) = (&work.container, work.container.disk());
    let _commit = container.commit.lock();
    if container.state() == ContainerState::Deleted {
        return Ok(());
    }
    let (mut sums, mut batch) = (container.sums(), Batch::new());
    for tx in transactions {
        let key = tables::tx_key(container.id(), *tx);
        if let Some(row) = disk.db.get(DELETE_TXNS, &key)? {
            let tx = DeletedBlocksTransaction::decode(&row[..])
                .map_err(|e| StorageError::row(container.id(), "delete_txns", e))?;
            sums.pending_delete = sums.pending_delete.saturating_sub(tx.local_id.len() as u64);
        }
        batch.delete(DELETE_TXNS, key);
    }
    sums.put_changed(container, &mut batch);
    disk.db.write(batch, Durability::NoWal)?;
    container.set_sums(sums);
    let left = pending(container, None, 1)?.0;
    let mut deleting = disk.deleting.lock();
    match left.first() {
        Some(tx) => deleting.begins_at(container.id(), tx.tx_id),
        None => deleting.remove(container.id()),
    }
    Ok(())
}
