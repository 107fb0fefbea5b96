//! DataNodes have disks of three types, one of them at times two of one type and none of another.
//! The policy of the bucket changes, keys with and without policies of their own are written,
//! written again and deleted, and the mover brings them to where they belong. Meanwhile DataNodes
//! are down, disks fail, and disks of a type have no room on one DataNode or on all; the mover,
//! clients and SCM end at any moment.

use types::StorageType;

use super::volumes::{self, Trouble};
use super::{Cluster, FIRST_DATANODE, Kind};
use crate::scenario::erasure::layout::{Shape, Types, machine};
use crate::world::disk::volume;
use crate::world::random::Random;

/// One DataNode more than keys have replicas.
pub const KIND: Kind = Kind {
    shape: Shape { datanodes: 4, disks: 3 },
    replications: &["three", "three", "rs-2-1-16k"],
    settings: &[
        ("ozone.scm.container.size", &["1MB", "3MB"]),
        ("ozone.scm.block.size", &["256KB", "1MB"]),
        ("hdds.datanode.disk.check.min.gap", &["1s"]),
        ("hdds.scm.replication.event.timeout", &["20s", "40s"]),
        ("ozone.scm.pipeline.owner.container.count", &["1"]),
        ("ozone.scm.datanode.pipeline.limit", &["3"]),
    ],
    round,
    think: 2_500,
    honest: false,
    tiers: true,
};

/// Before the first fault, in seconds.
const BEFORE: (u64, u64) = (5, 20);
/// Steps of a round.
const STEPS: (u64, u64) = (3, 7);
/// Between two steps, in seconds.
const PAUSES: [u64; 5] = [2, 10, 10, 25, 60];

/// The types of all disks: three DataNodes have one of each, which is enough for every policy.
pub fn types(shape: Shape, random: &mut Random) -> Vec<Types> {
    use StorageType::{Archive, Disk, Ssd};
    let last = [[Ssd, Disk, Archive], [Disk, Disk, Archive], [Ssd, Ssd, Disk], [Archive, Ssd, Ssd]];
    let last = random.pick(&last).to_vec();
    let all = vec![Ssd, Disk, Archive];
    std::iter::repeat_n(all, shape.datanodes - 1).chain([last]).collect()
}

/// A round.
fn round(cluster: &mut Cluster) -> std::io::Result<()> {
    let before = cluster.random.range(BEFORE.0, BEFORE.1);
    cluster.pass(before);
    let mut trouble: Option<(usize, Trouble)> = None;
    for _ in 0..cluster.random.range(STEPS.0, STEPS.1) {
        match (cluster.random.below(8), trouble.take()) {
            (0 | 1, was) => {
                fill(cluster);
                trouble = was;
            }
            (2 | 3, was) => {
                relieve(cluster);
                restart_client(cluster)?;
                trouble = was;
            }
            (4, was) if cluster.random.one_in(2) => {
                cluster.restart_scm()?;
                trouble = was;
            }
            (_, Some((datanode, of))) => volumes::end(cluster, datanode, of)?,
            (_, None) => {
                let datanode = cluster.random.below(cluster.layout.datanodes() as u64) as usize;
                trouble = Some((datanode, volumes::begin(cluster, datanode)?));
            }
        }
        let pause = *cluster.random.pick(&PAUSES);
        cluster.pass(pause);
    }
    if let Some((datanode, of)) = trouble {
        volumes::end(cluster, datanode, of)?;
    }
    relieve(cluster);
    Ok(())
}

/// Disks of a type have no room any more, on one DataNode or on all.
fn fill(cluster: &mut Cluster) {
    let of = *cluster.random.pick(&StorageType::ALL);
    let one = cluster.random.below(cluster.layout.datanodes() as u64) as usize;
    let all = cluster.random.one_in(2);
    tracing::info!(%of, one, all, "disks have no room");
    cluster.count(if all { "no room on a type of disks" } else { "no room on a disk" });
    for datanode in (0..cluster.layout.datanodes()).filter(|datanode| all || *datanode == one) {
        for disk in 0..cluster.layout.disks() {
            if cluster.layout.type_of(datanode, disk) == of {
                volume::crowd(machine(datanode), &cluster.layout.disk(disk));
            }
        }
    }
}

/// All disks have room again.
fn relieve(cluster: &mut Cluster) {
    for datanode in 0..cluster.layout.datanodes() {
        volume::relieve(machine(datanode));
    }
}

/// A client ends, or the mover, or the process that changes policies.
fn restart_client(cluster: &mut Cluster) -> std::io::Result<()> {
    let first = FIRST_DATANODE + cluster.layout.datanodes();
    let clients = cluster.fleet.members.len() - first;
    let client = first + cluster.random.below(clients as u64) as usize;
    tracing::info!(client, "a client ends");
    cluster.count("client killed");
    cluster.end(client);
    cluster.fleet.start(client)
}
