//! DataNodes have two disks, which fail separately, in operation or at a start, for longer than it
//! takes to rebuild their replicas: on the other disk of the same DataNode, too, since all others
//! have a replica. They come back with all their data. DataNodes are down meanwhile. At any time at
//! most as many DataNodes have faults as the code can recover, and nothing is lost.

use std::collections::BTreeMap;

use super::{Cluster, FIRST_DATANODE, Kind};
use crate::scenario::erasure::layout::{Shape, machine};
use crate::world::disk::volume;

/// As many DataNodes as the largest scheme has replicas.
pub const KIND: Kind = Kind {
    shape: Shape { datanodes: 5, disks: 2 },
    replications: &["rs-3-2-16k", "rs-3-2-64k", "rs-3-2-16k", "rs-2-2-16k", "three"],
    settings: &[
        ("ozone.scm.container.size", &["1MB", "2MB"]),
        ("hdds.datanode.disk.check.min.gap", &["1s", "10m"]),
        ("hdds.datanode.disk.check.io.failures.tolerated", &["0", "1"]),
        ("hdds.datanode.disk.balancer.should.run.default", &["true", "false"]),
        ("hdds.datanode.disk.balancer.service.interval", &["5s"]),
        ("hdds.datanode.disk.balancer.volume.density.threshold.percent", &["1"]),
        ("hdds.datanode.disk.balancer.replica.deletion.delay", &["1s", "60s"]),
        ("hdds.datanode.volume.choosing.policy", &["capacity", "round-robin"]),
    ],
    round,
    think: 2_000,
    honest: false,
    tiers: false,
};

/// Before the first fault, in seconds.
const BEFORE: (u64, u64) = (15, 40);
/// Steps of a round.
const STEPS: (u64, u64) = (3, 8);
/// Pauses between two steps, in seconds: none, a few checks of SCM, longer than a node needs to be
/// dead and its replicas to be rebuilt.
const PAUSES: [u64; 4] = [2, 15, 60, 90];

/// Time until a node is dead and its replicas are rebuilt, in seconds.
const REBUILD_TIME: (u64, u64) = (40, 75);

/// Fault of a DataNode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It is down.
    Down,
    /// One of its disks fails.
    Disk(usize),
}

/// A round.
fn round(cluster: &mut Cluster) -> std::io::Result<()> {
    let before = cluster.random.range(BEFORE.0, BEFORE.1);
    cluster.pass(before);
    let most = match cluster.board.replicas() {
        (indexes, 1..=3) if indexes.len() == 1 => 1,
        (indexes, _) => (indexes.len() + 1) / 3,
    };
    if most > 1 && cluster.random.one_in(2) {
        return displaced(cluster);
    }
    let mut troubled = BTreeMap::new();
    for _ in 0..cluster.random.range(STEPS.0, STEPS.1) {
        let datanode = cluster.random.below(cluster.layout.datanodes() as u64) as usize;
        match troubled.remove(&datanode) {
            Some(trouble) => end(cluster, datanode, trouble)?,
            None if troubled.len() < most => {
                let trouble = begin(cluster, datanode)?;
                troubled.insert(datanode, trouble);
            }
            None => {
                let all: Vec<usize> = troubled.keys().copied().collect();
                let other = *cluster.random.pick(&all);
                if let Some(trouble) = troubled.remove(&other) {
                    end(cluster, other, trouble)?;
                }
            }
        }
        let pause = *cluster.random.pick(&PAUSES);
        cluster.pass(pause);
    }
    for (datanode, trouble) in troubled {
        end(cluster, datanode, trouble)?;
    }
    Ok(())
}

/// A DataNode has been down until its replicas have to be rebuilt elsewhere, and all others have
/// one. Then a disk of another one fails: that one can take a replica, of either index. The disk
/// comes back while the first is still down.
fn displaced(cluster: &mut Cluster) -> std::io::Result<()> {
    cluster.count("displaced index");
    let datanodes = cluster.layout.datanodes() as u64;
    let down = cluster.random.below(datanodes);
    let other = (down + 1 + cluster.random.below(datanodes - 1)) % datanodes;
    let (down, other) = (down as usize, other as usize);
    let disk = cluster.random.below(cluster.layout.disks() as u64) as usize;
    tracing::info!(down, other, disk, "a DataNode is down, and then a disk of another one fails");
    cluster.end(FIRST_DATANODE + down);
    let pause = cluster.random.range(REBUILD_TIME.0, REBUILD_TIME.1);
    cluster.pass(pause);
    fail(cluster, other, disk)?;
    let pause = cluster.random.range(REBUILD_TIME.0, REBUILD_TIME.1);
    cluster.pass(pause);
    end(cluster, other, Trouble::Disk(disk))?;
    let pause = *cluster.random.pick(&PAUSES);
    cluster.pass(pause);
    end(cluster, down, Trouble::Down)
}

/// Begins a fault of a DataNode.
pub fn begin(cluster: &mut Cluster, datanode: usize) -> std::io::Result<Trouble> {
    let server = FIRST_DATANODE + datanode;
    if cluster.random.one_in(3) {
        cluster.count("DataNode down");
        tracing::info!(datanode, "is down");
        cluster.end(server);
        return Ok(Trouble::Down);
    }
    let number = cluster.random.below(cluster.layout.disks() as u64) as usize;
    fail(cluster, datanode, number)?;
    Ok(Trouble::Disk(number))
}

/// A disk fails, at work or at a start.
fn fail(cluster: &mut Cluster, datanode: usize, number: usize) -> std::io::Result<()> {
    let server = FIRST_DATANODE + datanode;
    let disk = cluster.layout.disk(number);
    let at_start = cluster.random.one_in(2);
    tracing::info!(datanode, number, at_start, "a disk fails");
    if at_start {
        cluster.count("failed disk at a start");
        cluster.end(server);
    } else {
        cluster.count("failed disk");
    }
    volume::fail(machine(datanode), &disk);
    cluster.fleet.start(server)
}

/// A DataNode is all right again: it starts.
pub fn end(cluster: &mut Cluster, datanode: usize, trouble: Trouble) -> std::io::Result<()> {
    let server = FIRST_DATANODE + datanode;
    tracing::info!(datanode, ?trouble, "is over");
    if let Trouble::Disk(number) = trouble {
        cluster.count("disk comes back");
        cluster.end(server);
        volume::heal(machine(datanode), &cluster.layout.disk(number));
    }
    cluster.fleet.start(server)
}
