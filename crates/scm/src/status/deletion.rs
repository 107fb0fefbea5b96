//! Progress of deletions in this SCM: `o3 admin deletion status`.

use placement::deletion::{LogStatus, Oldest};
use placement::{Cluster, Health};
use proto::deletion_status::{DeletionStage, DeletionStatusResponse, DeletionsOfNode};

use crate::core::Core;
use crate::service_names::BLOCK_DELETION;

/// Transactions checked: the cluster is locked meanwhile.
const LOOKED_AT: usize = 20_000;

/// Progress and obstacles of the deletion log.
pub fn status(core: &Core) -> DeletionStatusResponse {
    let cluster = core.cluster();
    if let Some(newest) = cluster.deletions.newest() {
        core.deletion_ages.note(newest);
    }
    let status = cluster.deletion_status(LOOKED_AT);
    let nodes = status.nodes.iter().map(|(id, unconfirmed)| {
        let node = cluster.nodes.get(*id);
        DeletionsOfNode {
            uuid: id.to_string(),
            host: node.map_or_else(String::new, |node| node.details.host.clone()),
            health: health(&cluster, *id).to_owned(),
            transactions: unconfirmed.transactions,
            blocks: unconfirmed.blocks,
        }
    });
    let age = status.oldest.as_ref().map(|oldest| core.deletion_ages.of(oldest.id));
    let stage = DeletionStage {
        table: "deletedBlocks".to_owned(),
        rows: status.summary.transactions,
        blocks: status.summary.blocks,
        bytes: status.summary.replicated_size,
        more: false,
        oldest: status
            .oldest
            .as_ref()
            .map(|oldest| format!("transaction {} of container {}", oldest.id, oldest.container)),
        oldest_age_ms: age.map(|age| u64::try_from(age.at_least.as_millis()).unwrap_or(u64::MAX)),
        oldest_since_start: age.is_some_and(|age| age.since_start),
        waits_for: waits_for(core, &cluster, &status),
    };
    DeletionStatusResponse {
        role: "scm".to_owned(),
        node_id: core.node_id(),
        active: core.check_leader().is_ok(),
        stages: vec![stage],
        nodes: nodes.collect(),
        nodes_more: Some(status.more),
    }
}

/// Obstacle of the oldest transaction.
fn waits_for(core: &Core, cluster: &Cluster, status: &LogStatus) -> Option<String> {
    let oldest = status.oldest.as_ref()?;
    if core.services.is_paused(BLOCK_DELETION) {
        return Some(core.services.waits_for(BLOCK_DELETION));
    }
    if cluster.safe_mode.is_on() {
        return Some("the end of safe mode".to_owned());
    }
    if oldest.put_aside {
        let rounds = oldest.retries;
        return Some(format!("a reset of its retry count: it was sent in {rounds} rounds"));
    }
    if oldest.retries == 0 && !oldest.waits_for.is_empty() {
        return Some(core.services.waits_for(BLOCK_DELETION));
    }
    Some(of_nodes(cluster, oldest))
}

fn of_nodes(cluster: &Cluster, oldest: &Oldest) -> String {
    let named = |id: &types::DatanodeId| {
        let host = cluster.nodes.get(*id).map_or("", |node| node.details.host.as_str());
        format!("datanode {id} ({host}), {}", health(cluster, *id))
    };
    let is_away = |id: &&types::DatanodeId| !cluster.nodes.is_healthy(**id);
    let away = oldest.waits_for.iter().find(is_away);
    match away.or(oldest.waits_for.first()) {
        Some(node) => {
            let others = match oldest.waits_for.len().saturating_sub(1) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let rounds = oldest.retries;
            format!("confirmation by {}{others}; sent in {rounds} rounds", named(node))
        }
        None => {
            let Oldest { container, confirmed, required, .. } = oldest;
            format!(
                "container {container} to be whole: {confirmed} of {required} replicas confirmed"
            )
        }
    }
}

fn health(cluster: &Cluster, id: types::DatanodeId) -> &'static str {
    match cluster.nodes.get(id).map(|node| node.health) {
        Some(Health::Healthy) => "HEALTHY",
        Some(Health::Stale) => "STALE",
        Some(Health::Dead) => "DEAD",
        _ => "UNKNOWN",
    }
}
