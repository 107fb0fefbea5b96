//! Links between DataNodes are cut, and no others: SCM and clients reach all. A member of a
//! pipeline lags in its log, is healthy for SCM, and SCM has its missing containers copied to it,
//! from a member that reaches it. Copies are slow: the log arrives while they are in flight.

use std::collections::BTreeSet;

use super::{Cluster, FIRST_DATANODE, Kind};
use crate::scenario::erasure::layout::{Shape, machine};
use crate::world::clock::SECOND;
use crate::world::link::Delay;
use crate::world::world;

/// One DataNode more than a pipeline has.
pub const KIND: Kind = Kind {
    shape: Shape { datanodes: 4, disks: 1 },
    replications: &["three", "three", "three", "rs-2-1-16k"],
    settings: &[
        ("ozone.scm.container.size", &["1MB", "3MB"]),
        ("ozone.scm.block.size", &["256KB", "1MB"]),
        ("ozone.scm.pipeline.owner.container.count", &["1", "3"]),
        ("ozone.datanode.pipeline.limit", &["1", "2"]),
        ("trioxide.datanode.replication.bandwidth", &["10KB", "30KB", "100KB"]),
        ("hdds.ratis.snapshot.threshold", &["200", "100000", "100000"]),
        ("trioxide.small.block.size", &["16B", "4KB"]),
        ("hdds.ratis.raft.server.rpc.slowness.timeout", &["60s", "300s"]),
    ],
    round,
    think: 600,
    honest: true,
    tiers: false,
};

/// Time until a stopped DataNode is dead, and its replicas are copied elsewhere, in seconds.
const DEAD: u64 = 40;
/// Before the first cut, in seconds.
const BEFORE: (u64, u64) = (5, 15);
/// Cuts of a round.
const CUTS: (u64, u64) = (2, 6);
/// Duration of a cut, in seconds.
const CUT: (u64, u64) = (30, 90);
/// Its remaining duration after a copy arrives where the log does not, in seconds.
const COPY: u64 = 12;
/// Between two cuts, in seconds.
const PAUSE: (u64, u64) = (1, 20);

/// A round.
fn round(cluster: &mut Cluster) -> std::io::Result<()> {
    // With three, a copy is made on the lagging member of the pipeline.
    let down = cluster.random.one_in(2).then(|| cluster.random.below(4) as usize);
    if let Some(down) = down {
        cluster.count("three DataNodes");
        cluster.end(FIRST_DATANODE + down);
        cluster.pass(DEAD);
    }
    let before = cluster.random.range(BEFORE.0, BEFORE.1);
    cluster.pass(before);
    for _ in 0..cluster.random.range(CUTS.0, CUTS.1) {
        let there: Vec<usize> =
            (0..cluster.layout.datanodes()).filter(|datanode| Some(*datanode) != down).collect();
        let one = *cluster.random.pick(&there);
        let links = links(cluster, one, &there);
        tracing::info!(?links, "links between DataNodes are cut");
        cluster.count("cut between DataNodes");
        let now = world().now;
        for (from, to) in &links {
            world().links.sever(*from, *to, now);
        }
        if cluster.random.one_in(3) {
            slow(cluster, one);
        }
        let cut = cluster.random.range(CUT.0, CUT.1);
        let before = arrivals(cluster, &there);
        if cluster.within(cut, |cluster| !arrivals(cluster, &there).is_subset(&before)) {
            cluster.count("cut until a copy comes");
            let more = cluster.random.below(COPY);
            cluster.pass(more);
        }
        let restarts = cluster.random.one_in(4);
        if restarts {
            cluster.count("restart after a cut");
            cluster.end(FIRST_DATANODE + one);
        }
        tracing::info!(one, restarts, "links between DataNodes are there again");
        for (from, to) in &links {
            world().links.reconnect(*from, *to);
        }
        cluster.fleet.start(FIRST_DATANODE + one)?;
        let pause = cluster.random.range(PAUSE.0, PAUSE.1);
        cluster.pass(pause);
        world().links.heal();
        if cluster.random.one_in(3) {
            cluster.count("restart when the log has come");
            cluster.end(FIRST_DATANODE + one);
            cluster.fleet.start(FIRST_DATANODE + one)?;
        }
    }
    Ok(())
}

/// Copies in flight: their targets, and their containers.
fn arrivals(cluster: &Cluster, there: &[usize]) -> BTreeSet<(usize, u64)> {
    let layout = &cluster.layout;
    let of = |datanode: &usize| {
        let datanode = *datanode;
        layout.arrivals(datanode).into_iter().map(move |(id, _)| (datanode, id))
    };
    there.iter().flat_map(of).collect()
}

/// Links between a DataNode and one or several of the running ones, one way or both. Mostly one is
/// left as a source of copies.
fn links(cluster: &mut Cluster, one: usize, there: &[usize]) -> Vec<(usize, usize)> {
    let mut others: Vec<usize> = there.iter().copied().filter(|other| *other != one).collect();
    let leaves = if cluster.random.one_in(6) { 0 } else { 1 };
    let count = cluster.random.below(2) as usize + 1;
    while others.len() > count.min(there.len() - 1 - leaves) {
        let at = cluster.random.below(others.len() as u64) as usize;
        others.remove(at);
    }
    let ways = cluster.random.below(4);
    let mut links = Vec::new();
    for other in others {
        let (one, other) = (machine(one), machine(other));
        if ways != 0 {
            links.push((one, other));
        }
        if ways != 1 {
            links.push((other, one));
        }
    }
    links
}

/// Makes the other DataNodes' messages to one slow.
fn slow(cluster: &mut Cluster, one: usize) {
    cluster.count("slow links");
    let more = cluster.random.below(SECOND / 2) + 1;
    for other in (0..cluster.layout.datanodes()).filter(|other| *other != one) {
        let delay = Delay { least: SECOND / 100, more };
        world().links.slow(machine(other), machine(one), delay);
    }
}
