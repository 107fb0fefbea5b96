//! Ids are reserved through Raft in batches and handed out from memory.

use std::time::{SystemTime, UNIX_EPOCH};

use placement::{Change, Sequence};

use crate::core::Core;
use crate::error::RequestError;
use crate::options::FEW_IDS;

/// Makes sure that `count` ids are at hand, unless another request takes them at once.
pub async fn reserve(core: &Core, sequence: Sequence, count: u64) -> Result<(), RequestError> {
    let _one_at_a_time = core.reserving.lock().await;
    let (expected, left) = {
        let cluster = core.cluster();
        (cluster.sequences.last(sequence), cluster.sequences.left(sequence))
    };
    if left >= count {
        return Ok(());
    }
    // What the rest of the last batch cannot serve is asked for on top of a batch: consecutive
    // batches join.
    let first = if expected == 0 { first_id(sequence) } else { expected + 1 };
    let batch = match sequence {
        Sequence::LocalId => core.options.id_batch,
        Sequence::ContainerId | Sequence::DelTxnId => core.options.id_batch.min(FEW_IDS),
    };
    let last = first - 1 + batch.max(count);
    core.propose_one(Change::ReserveIds { sequence, expected, last }).await?;
    core.cluster().sequences.grant(sequence, first..last + 1);
    Ok(())
}

/// The first id of a new cluster.
///
/// Block ids begin, as Ozone's do, with the time in the upper 48 bits, so that blocks of a cluster
/// made anew over old data directories are never taken for each other.
fn first_id(sequence: Sequence) -> u64 {
    match sequence {
        Sequence::ContainerId | Sequence::DelTxnId => 1,
        Sequence::LocalId => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (now.as_millis() as u64) << 16
        }
    }
}
