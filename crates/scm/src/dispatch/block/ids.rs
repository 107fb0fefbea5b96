//! Ids are reserved through Raft in batches and handed out from memory.

use std::time::{SystemTime, UNIX_EPOCH};

use placement::{Change, Sequence};

use crate::core::Core;
use crate::error::RequestError;
use crate::settings::FEW_IDS;

/// Reserves ids until `count` are available, unless another request takes them meanwhile.
pub async fn reserve(core: &Core, sequence: Sequence, count: u64) -> Result<(), RequestError> {
    let _one_at_a_time = core.reserving.begin().await;
    let (expected, left) = {
        let cluster = core.cluster();
        (cluster.sequences.last(sequence), cluster.sequences.left(sequence))
    };
    if left >= count {
        return Ok(());
    }
    // Ids beyond the rest of the last batch are requested in addition to a batch: consecutive
    // batches join.
    let batch = match sequence {
        Sequence::LocalId => core.options.id_batch,
        Sequence::ContainerId | Sequence::DelTxnId => core.options.id_batch.min(FEW_IDS),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let first = first(sequence, expected, now.as_millis())?;
    let next = first.checked_add(batch.max(count)).filter(|next| *next > first);
    let end = next.filter(|next| *next <= MOST).ok_or_else(|| used_up(sequence))?;
    core.propose_one(Change::ReserveIds { sequence, expected, last: end - 1 }).await?;
    core.cluster().sequences.grant(sequence, first..end);
    Ok(())
}

/// The end of all ids: they are signed where Java reads them.
const MOST: u64 = i64::MAX as u64;
/// The beginning of 2010 in milliseconds: a clock before it was never set.
const NEVER_SET: u64 = 1_262_304_000_000;

fn used_up(sequence: Sequence) -> RequestError {
    RequestError::Failed(format!("all ids of {} are used up", sequence.name()))
}

/// The first id after the last reserved one.
///
/// Block ids of a new cluster begin, as Ozone's do, with the time in the upper 48 bits, so that
/// blocks of a cluster recreated over old data directories never get the ids of old ones. A clock
/// that was never set would give both clusters the same ids.
fn first(sequence: Sequence, last: u64, now_ms: u128) -> Result<u64, RequestError> {
    if last != 0 {
        return last.checked_add(1).ok_or_else(|| used_up(sequence));
    }
    match sequence {
        Sequence::ContainerId | Sequence::DelTxnId => Ok(1),
        Sequence::LocalId => {
            let now =
                u64::try_from(now_ms).ok().filter(|now| (NEVER_SET..MOST >> 16).contains(now));
            now.map(|now| now << 16).ok_or_else(|| {
                RequestError::Failed(format!(
                    "block ids of a new cluster begin with the time, and the clock of this SCM is at {now_ms} ms since 1970: set the clock"
                ))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_never_set_gives_a_new_cluster_no_block_ids_and_an_old_one_its_next() {
        let now = 1_790_000_000_000;
        let at = |sequence, last, now_ms| first(sequence, last, now_ms).ok();
        assert_eq!(at(Sequence::LocalId, 0, now), Some(1_790_000_000_000 << 16));
        for clock in [0, 1, u128::from(NEVER_SET) - 1, 1 << 47, u128::from(u64::MAX), u128::MAX] {
            assert_eq!(at(Sequence::LocalId, 0, clock), None, "{clock}");
            assert_eq!(at(Sequence::LocalId, 7, clock), Some(8), "{clock}");
            assert_eq!(at(Sequence::ContainerId, 0, clock), Some(1), "{clock}");
            assert_eq!(at(Sequence::DelTxnId, 0, clock), Some(1), "{clock}");
        }
        assert_eq!(at(Sequence::ContainerId, u64::MAX, now), None);
        let told = first(Sequence::LocalId, 0, 0).unwrap_err().to_string();
        assert!(told.contains("set the clock"), "{told}");
    }
}
