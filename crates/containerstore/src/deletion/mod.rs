//! Deleting blocks: SCM's transactions are durably recorded and acknowledged at once; the blocks
//! are deleted in the background.
//!
//! 1. *Take*: the transaction becomes a row, with the database's own log synced. Now SCM may forget
//!    it.
//! 2. *Reclaim*: the blocks' rows are deleted, and the tables are flushed, so that no replay brings
//!    them back. While clients write, the work waits for a flush with another cause
//!    (`store/unfreed_space.rs`).
//! 3. Files are unlinked, records punched, dead segments dropped, and half-dead ones compacted if
//!    no more blocks of their container are to be deleted.
//! 4. The transaction's row is deleted. A crash before that repeats 2 and 3, which then find less
//!    to do.
//!
//! A transaction may arrive before the block itself, on a replica that lags behind its pipeline's
//! log, or before the last entry of a block whose client put it and continues writing. Such a block
//! is noted as deleted early, and dropped when it arrives. Or it arrives after all others have
//! carried the deletion out, and none has its bytes any more: one of them proves that, and the
//! lagging one records it before it confirms the entry (`proof.rs`): the result of applying an
//! entry depends on the log and this disk alone.

mod free;
mod pending;
mod proof;
mod reclaim;
mod take;

use std::time::Duration;

use types::ContainerId;

use crate::error::Result;

/// State of one deletion transaction.
#[derive(Debug)]
pub struct DeletionResult {
    /// Its number.
    pub tx_id: i64,
    /// Its container.
    pub container: ContainerId,
    /// Taken durably, or why not.
    pub outcome: Result<()>,
}

/// Results of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Blocks of one disk whose rows were to be deleted, on the disk with the most.
    pub portion: usize,
    /// Blocks removed.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Segments whose live records were copied elsewhere.
    pub compacted: u64,
    /// Segments removed.
    pub dropped: u64,
    /// Duration of the freeing of space while clients wrote, with the pauses.
    pub with_rests: Duration,
    /// There is more to do.
    pub more: bool,
}
