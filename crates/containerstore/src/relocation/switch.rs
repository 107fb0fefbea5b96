//! Replacement of a replica by its copy.
//!
//! | step | after a crash there is |
//! | --- | --- |
//! | the copy is durable in the folder of arrivals | the replica; the copy is removed |
//! | the replica has the mark that it may be left | the same |
//! | the copy is in its place with its marker, its rows are durable | the same |
//! | the marker is removed | both, equal; the copy is kept, by the marks |
//! | the copy is served | the same: deletions are applied to the copy, which is kept |
//!
//! From the second step on the state and the rows of the replica do not change: both of its locks
//! are held.

use metastore::IterRange;
use prost::Message;
use proto::scm_datanode::DeletedBlocksTransaction;
use types::LocalId;
use uuid::Uuid;

use super::copy::Source;
use super::{Relocated, marks};
use crate::containers::ARRIVED;
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::{self, BLOCK_DATA, DELETE_TXNS};
use crate::transfer::Arrival;

/// Replaces the replica by the copy, which has this number of blocks and bytes. Blocks.
pub(super) fn switch(
    store: &ContainerStore,
    source: &Source,
    mut arrival: Arrival,
    copied: (u64, u64),
) -> Result<Relocated> {
    let (id, old) = (source.container.id(), &source.container);
    if arrival.totals() != copied {
        let came = arrival.totals();
        let why = format!("{came:?} blocks and bytes were written, {copied:?} were read");
        return Err(StorageError::not_relocated(id, why));
    }
    let number = Uuid::new_v4().to_string();
    let beside = match old.has_arrived() {
        true => vec![(marks::CAME, &*number), (ARRIVED, "")],
        false => vec![(marks::CAME, &*number)],
    };
    arrival.complete(&beside)?;
    marks::write(old, marks::LEAVING, &number)?;
    let moved = store.replace(old, || {
        source.check(store)?;
        if old.is_replaying() {
            return Err(StorageError::not_relocated(id, "its pipeline replays its log"));
        }
        level(source, &mut arrival)?;
        let (blocks, bytes) = arrival.totals();
        let copying = arrival.copying();
        let moved = copying.step().and_then(|_step| arrival.move_in());
        match moved {
            Ok(copy) => Ok((copy, Relocated { blocks, bytes })),
            Err(error) => {
                // On the disk, the copy may have been published all the same.
                marks::write(old, marks::STAYED, &number)?;
                Err(error)
            }
        }
    })?;
    Ok(moved)
}

/// Brings a copy to the present state of the replica: only deletions may have changed it since. The
/// caller holds the replica's commit lock.
fn level(source: &Source, arrival: &mut Arrival) -> Result<()> {
    let (id, old) = (source.container.id(), &source.container);
    let sums = old.sums();
    if (sums.blocks, sums.used) != (source.begun.blocks, source.begun.used) {
        leave_out_deleted(source, arrival)?;
    }
    // Those that were deleted before, and whose rows are still here.
    let (mut blocks, mut bytes) = arrival.totals();
    for local in &source.deleted {
        if let Some(row) = old.block_row(*local)? {
            blocks = blocks.saturating_add(1);
            bytes = bytes.saturating_add(row.length());
        }
    }
    if (blocks, bytes) != (sums.blocks, sums.used) {
        let has = (sums.blocks, sums.used);
        let why = format!("{:?} blocks and bytes were copied, it has {has:?}", (blocks, bytes));
        return Err(StorageError::not_relocated(id, why));
    }
    let (mut pending, mut transactions) = (0u64, Vec::new());
    let mut cursor = old.disk().db.iter(DELETE_TXNS, IterRange::prefix(tables::prefix(id)))?;
    cursor.first();
    while let Some((key, row)) = cursor.row()? {
        let tx = DeletedBlocksTransaction::decode(row)
            .map_err(|e| StorageError::row(id, "delete_txns", e))?;
        pending = pending.saturating_add(tx.local_id.len() as u64);
        transactions.push((key.to_vec(), row.to_vec()));
        cursor.next();
    }
    arrival.transactions = transactions;
    arrival.sums.pending_delete = pending;
    arrival.sums.delete_tx = sums.delete_tx;
    Ok(())
}

/// Removes blocks from a copy whose rows the replica no longer has.
fn leave_out_deleted(source: &Source, arrival: &mut Arrival) -> Result<()> {
    let (id, old) = (source.container.id(), &source.container);
    let mut gone: Vec<LocalId> = Vec::new();
    {
        let range = IterRange::prefix(tables::prefix(id)).background(1 << 20);
        let mut cursor = arrival.disk.db.iter(BLOCK_DATA, range)?;
        cursor.first();
        while let Some((key, _)) = cursor.row()? {
            if !old.disk().db.contains(BLOCK_DATA, key)? {
                let local = tables::block_of(key);
                gone.push(local.ok_or_else(|| StorageError::row(id, "block_data", "bad key"))?);
            }
            cursor.next();
        }
    }
    gone.into_iter().try_for_each(|local| arrival.leave_out(local))?;
    arrival.disk.sync_names(&arrival.dir.join("chunks"))
}
