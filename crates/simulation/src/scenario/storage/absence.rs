//! All members of a group are down, for longer than any timeout of SCM: of an erasure-coded
//! container, of a pipeline, or any servers. SCM starts while they are down, so that they have
//! never registered with it, and they come back a few at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use client::ScmClient;
use container::ContainerState;

use super::{Cluster, FIRST_DATANODE, Kind, SCM};
use crate::scenario::erasure::layout::Shape;
use crate::scenario::process::on_runtime;
use crate::world::node;

/// Twice as many DataNodes as the largest scheme has replicas: with a whole group down, others form
/// a group.
pub const KIND: Kind = Kind {
    shape: Shape { datanodes: 10, disks: 1 },
    replications: &["rs-3-2-16k", "rs-3-2-64k", "rs-2-2-16k", "xor-2-1-16k", "three"],
    settings: &[
        ("hdds.scm.replication.thread.interval", &["2s", "2s", "10s"]),
        ("ozone.scm.dead.node.interval", &["25s", "25s", "60s"]),
        ("ozone.scm.container.size", &["2MB", "8MB"]),
    ],
    round,
    think: 3_000,
    honest: true,
    tiers: false,
};

/// Before a group leaves, in seconds.
const BEFORE: (u64, u64) = (8, 40);
/// Durations: shorter than any timeout, and longer than the time for a node to be stale, to be
/// dead, for a few checks of SCM after that, for orders to expire, and than all of it together.
const ABSENCES: [u64; 6] = [4, 15, 45, 100, 100, 400];
/// Times between two returns: shorter than a round of checks, a few rounds, and longer than the
/// time after which a node is dead.
const PAUSES: [u64; 4] = [1, 5, 12, 80];

/// Time of SCM's restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// It ends with the group, and starts at once.
    WithGroup,
    /// It stops before the group, and starts while the group is down.
    AfterGroup,
    /// It restarts while the group is down.
    Meanwhile,
    /// It is not restarted.
    Never,
}

/// A round.
fn round(cluster: &mut Cluster) -> std::io::Result<()> {
    let before = cluster.random.range(BEFORE.0, BEFORE.1);
    cluster.pass(before);
    let quiet = cluster.random.one_in(2);
    cluster.board.is_quiet.store(quiet, Ordering::Release);
    let mut group = group(cluster);
    let starts =
        [Start::WithGroup, Start::WithGroup, Start::AfterGroup, Start::Meanwhile, Start::Never];
    let start = *cluster.random.pick(&starts);
    tracing::info!(?group, ?start, quiet, "a group is away");
    cluster.count("group away");
    if start == Start::AfterGroup {
        cluster.count("SCM down before the group");
        cluster.end(SCM);
        let seconds = cluster.random.range(1, 15);
        cluster.pass(seconds);
    }
    for datanode in &group {
        cluster.end(FIRST_DATANODE + datanode);
    }
    match start {
        Start::WithGroup => cluster.restart_scm()?,
        Start::AfterGroup => cluster.fleet.start(SCM)?,
        Start::Meanwhile | Start::Never => {}
    }
    let spread = cluster.random.below(10);
    let absence = *cluster.random.pick(&ABSENCES) + spread;
    cluster.pass(absence / 3);
    if start == Start::Meanwhile {
        cluster.restart_scm()?;
    }
    if cluster.random.one_in(2) {
        leave_safe_mode(cluster);
    }
    cluster.pass(absence - absence / 3);
    let portion = cluster.random.range(1, 4) as usize;
    let pause = *cluster.random.pick(&PAUSES);
    tracing::info!(absence, portion, pause, "the group comes back");
    while !group.is_empty() {
        let count = portion.min(group.len());
        for _ in 0..count {
            let at = cluster.random.below(group.len() as u64) as usize;
            cluster.fleet.start(FIRST_DATANODE + group.swap_remove(at))?;
        }
        cluster.pass(pause);
        if cluster.random.one_in(8) {
            cluster.restart_scm()?;
        }
    }
    Ok(())
}

/// DataNodes that leave together: those with replicas of one container, open for choice; or any.
fn group(cluster: &mut Cluster) -> Vec<usize> {
    let mut holders: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
    let mut open = BTreeSet::new();
    for (datanode, replica) in cluster.watch.replicas() {
        holders.entry(replica.container).or_default().insert(datanode);
        if replica.state == ContainerState::Open {
            open.insert(replica.container);
        }
    }
    let open: Vec<u64> = open.into_iter().collect();
    let all: Vec<u64> = holders.keys().copied().collect();
    let random = &mut cluster.random;
    let from = if open.is_empty() || random.one_in(4) { &all } else { &open };
    if from.is_empty() || random.one_in(8) {
        let datanodes = 0..cluster.layout.datanodes();
        return datanodes.filter(|_| !random.one_in(3)).collect();
    }
    holders[random.pick(from)].iter().copied().collect()
}

/// An operator ends SCM's safe mode, as `o3 admin safemode exit --force` does.
fn leave_safe_mode(cluster: &mut Cluster) {
    cluster.count("end of safe mode by force");
    let layout = cluster.layout.clone();
    node::start(cluster.first, "operator", move || {
        on_runtime(async {
            let _ = ScmClient::connect(layout.client()).exit_safe_mode().await;
        });
    });
}
