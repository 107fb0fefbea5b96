//! Checks that the bytes of keys are on disks of the types that their storage policies name, when
//! all disks work and have room: the mover brings keys there, and the replication manager the
//! replicas of a container that are on another type than its own.

use std::collections::{BTreeMap, BTreeSet};

use client::{Client, ScmClient};
use types::{BlockId, ContainerId, StoragePolicy, StorageType};

use super::board::{BUCKET, Board, VOLUME, path};
use super::layout::{Layout, replica_file};

/// Keys and replicas that are not where they belong.
pub async fn misplaced(
    client: &Client,
    scm: &ScmClient,
    board: &Board,
    layout: &Layout,
) -> Vec<String> {
    match look(client, scm, board, layout).await {
        Ok(lacking) => lacking,
        Err(why) => vec![why.to_string()],
    }
}

async fn look(
    client: &Client,
    scm: &ScmClient,
    board: &Board,
    layout: &Layout,
) -> anyhow::Result<Vec<String>> {
    let bucket = client.bucket_info(VOLUME, BUCKET).await?;
    let kept = board.kept.lock().clone();
    let (mut lacking, mut containers) = (Vec::new(), BTreeSet::new());
    for number in kept.iter().filter(|(_, kept)| kept.is_settled()).map(|(number, _)| *number) {
        let storage = client.key_storage(&path(number), &bucket, None).await?;
        if storage.misplaced() > 0 {
            let policy = storage.policy.map_or("none", StoragePolicy::name);
            lacking.push(format!("key {number} of policy {policy} is on {:?}", storage.bytes));
        }
        let info = client.key_info(&path(number)).await?;
        let locations = info.key_location_list.iter().flat_map(|list| &list.key_locations);
        containers.extend(locations.map(|of| BlockId::from_wire(&of.block_id).container));
    }
    let on_disks = on_disks(layout);
    for id in containers {
        let belongs = scm.container(id).await?.container_info.storage_type();
        for replica in scm.replicas(id).await? {
            if replica.storage_type() != belongs {
                let (of, host) = (replica.storage_type(), &replica.datanode_details.host_name);
                lacking.push(format!("container {id} of {belongs:?} is on {of:?} of {host}"));
            }
        }
        for (datanode, of) in on_disks.get(&id).into_iter().flatten() {
            if of.to_wire() != belongs {
                let told = format!("DataNode {datanode} has container {id} of {belongs:?} on {of}");
                lacking.push(told);
            }
        }
    }
    Ok(lacking)
}

/// Closed replicas: on which DataNodes and types of disks they are, by container.
fn on_disks(layout: &Layout) -> BTreeMap<ContainerId, BTreeSet<(usize, StorageType)>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for datanode in 0..layout.datanodes() {
        for (id, dir) in layout.containers(datanode) {
            let is_closed = replica_file(&dir).lines().any(|line| line == "state: CLOSED");
            if let Some(of) = layout.type_at(datanode, &dir).filter(|_| is_closed) {
                found.entry(ContainerId(id)).or_default().insert((datanode, of));
            }
        }
    }
    found
}
