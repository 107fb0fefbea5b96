//! DataNodes confirm deletions.
//!
//! **Invariant:** a transaction leaves the log only when every known replica has confirmed it, and
//! no other can exist: the number of nodes that confirmed is the container's required number of
//! replicas (if it is erasure coded, nodes with each of its indexes). A container with fewer keeps
//! its transactions until it is whole again: an SCM that has just started does not have the nodes
//! that are down.

use std::collections::BTreeSet;

use types::DatanodeId;

use crate::container::Holders;
use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::deletion::DeletionLog;
use crate::state::pending::PendingTasks;

/// `node` has (true) or has not (false) deleted the blocks of these transactions. One that it
/// has not is sent again in a later round.
pub(crate) fn acknowledge(
    log: &mut DeletionLog,
    holders: Holders<'_>,
    pending: &PendingTasks,
    node: DatanodeId,
    results: &[(u64, bool)],
) -> Decision {
    let mut finished = Vec::new();
    for (id, success) in results {
        if log.get(*id).is_none() || !success {
            continue;
        }
        log.note_acknowledged(*id, node);
        if is_acknowledged(log, holders, pending, *id) {
            finished.push(*id);
        }
    }
    let mut decision = Decision::default();
    if !finished.is_empty() {
        decision.changes.push(Change::RemoveDeletions(finished));
    }
    decision
}

/// Returns `true` if all required nodes have confirmed a transaction.
pub(super) fn is_acknowledged(
    log: &DeletionLog,
    holders: Holders<'_>,
    pending: &PendingTasks,
    id: u64,
) -> bool {
    let Some(t) = log.get(id) else { return false };
    let acknowledged = log.acknowledged(id);
    if acknowledged.is_empty() {
        return false;
    }
    let Some(container) = holders.containers.get(t.container) else { return true };
    let required = container.config.required_nodes();
    let confirmed = match container.config.is_ec() {
        // A duplicate of an index does not replace a missing one.
        true => {
            let on = acknowledged.iter().filter_map(|n| holders.replicas.on(t.container, *n));
            let indexes = on.map(|r| r.replica_index).filter(|i| (1..=required).contains(i));
            indexes.collect::<BTreeSet<_>>().len()
        }
        false => acknowledged.len(),
    };
    let all_there = confirmed >= required as usize;
    // A replica that is being copied may still have the blocks: it has to confirm after it arrives.
    let copied = pending.copies_of(t.container);
    all_there && !copied && holders.of(t.container).iter().all(|n| acknowledged.contains(n))
}
