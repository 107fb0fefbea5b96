//! One round of the deletion log: which transactions go to which nodes now.
//!
//! Every replica gets its command in the same round. A transaction is sent again to nodes that have
//! not confirmed within the resend time, and put aside after too many rounds. Nodes that are not
//! HEALTHY are skipped; they get theirs when they are back.

use std::collections::BTreeMap;

use proto::hdds::LifeCycleState;
use types::DatanodeId;

use super::acknowledge::is_acknowledged;
use crate::container::Holders;
use crate::settings::DeletionSettings;
use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::deletion::DeletionLog;
use crate::state::nodes::Nodes;
use crate::state::order::OrderKind;
use crate::state::pending::PendingTasks;
use crate::time::Millis;

/// Maximum of transactions checked per round, so that a long log does not delay other work: the
/// number of blocks to send, within these bounds.
const ROUND_SCAN: usize = 50_000;
const LEAST_SCAN: usize = 1_000;

/// Counts of a round, for the log and the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// Transactions sent to at least one node.
    pub transactions: usize,
    /// Blocks in them.
    pub blocks: usize,
    /// True if transactions beyond the limits of the round remain.
    pub more: bool,
}

/// State that a round reads in addition to the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending<'a> {
    pub settings: &'a DeletionSettings,
    pub nodes: &'a Nodes,
    pub holders: Holders<'a>,
    pub pending: &'a PendingTasks,
}

/// One round of at most `most` blocks, limited by the settings, too. The changes drop transactions
/// of containers that do not exist any more, and those that every replica has confirmed.
pub(crate) fn send(
    log: &mut DeletionLog,
    on: &Sending<'_>,
    now: Millis,
    most: usize,
) -> (Round, Decision) {
    let most = most.min(on.settings.blocks_per_round);
    let mut round = Round::default();
    let mut orders: BTreeMap<DatanodeId, Vec<u64>> = BTreeMap::new();
    let mut moot = Vec::new();
    let (ids, are_all) = log.portion(most.clamp(LEAST_SCAN, ROUND_SCAN));
    for id in &ids {
        if round.blocks >= most {
            round.more = true;
            break;
        }
        log.go_on_after(*id);
        let Some(t) = log.get(*id) else { continue };
        let blocks = t.blocks.len();
        let gone = on
            .holders
            .containers
            .get(t.container)
            .is_none_or(|c| c.state == LifeCycleState::Deleted);
        if gone || is_acknowledged(log, on.holders, on.pending, *id) {
            moot.push(*id);
            continue;
        }
        let targets = due_targets(log, on, *id, now);
        if targets.is_empty() {
            continue;
        }
        round.transactions = round.transactions.saturating_add(1);
        round.blocks = round.blocks.saturating_add(blocks);
        log.note_sent(*id, &targets, now);
        for node in targets {
            orders.entry(node).or_default().push(*id);
        }
    }
    round.more |= !are_all;
    let mut decision = Decision::default();
    if !moot.is_empty() {
        decision.changes.push(Change::RemoveDeletions(moot));
    }
    for (node, ids) in orders {
        decision.order(node, OrderKind::DeleteBlocks(ids));
    }
    (round, decision)
}

fn due_targets(log: &DeletionLog, on: &Sending<'_>, id: u64, now: Millis) -> Vec<DatanodeId> {
    let Some(t) = log.get(id) else { return Vec::new() };
    let Some(is_due) = log.due(id, on.settings, now) else {
        return Vec::new();
    };
    let is_due = |node: &DatanodeId| on.nodes.is_healthy(*node) && is_due(*node);
    on.holders.of(t.container).into_iter().filter(is_due).collect()
}
