//! A DataNode of one of two racks fails permanently, and comes back after all.

use proto::hdds::NodeState;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/dead-node",
    about: "a dead node's replicas are copied, still in two racks; its own are deleted on return",
    run,
};

fn in_two_racks(c: &mut Cluster) -> Result<()> {
    c.settled()?;
    for container in c.all_containers()? {
        let on = c.replicas(container.id)?;
        let rack = |server: Server| match server {
            Datanode(number) => number % 2,
            _ => 0,
        };
        let in_first = on.iter().filter(|replica| rack(replica.on) == 0).count();
        ensure!(
            container.keys == 0 || (1..on.len()).contains(&in_first),
            "{container:?} is on {on:?}"
        );
    }
    Ok(())
}

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 6).racks(2).start()?;
    let mut keys = Vec::new();
    for (number, length) in [3_000, 300_000, 1 << 20, 2 << 20].into_iter().enumerate() {
        keys.push(c.put(&format!("key-{number}"), length)?);
    }
    let containers = c.containers(&keys)?;
    c.close_containers()?;
    c.expect("three replicas in two racks", minutes(5), in_two_racks)?;

    let victim = c.written_to(&keys)?[0];
    let stale = c.holds(victim, &containers)?;
    c.kill([victim])?;
    c.lack_replicas(&keys)?;
    c.expect("it is dead", minutes(2), |c| c.node_is(victim, NodeState::Dead))?;
    c.expect("its replicas are made again elsewhere", minutes(5), |c| {
        in_two_racks(c)?;
        for id in &containers {
            let there = c.replicas(*id)?;
            ensure!(there.iter().all(|replica| replica.on != victim), "{there:?}");
        }
        c.whole(&keys)
    })?;
    c.read(&keys)?;

    // With its own there is a surplus.
    c.are_on_disks(&stale, 4)?;
    c.start([victim])?;
    c.expect("it is back", minutes(2), |c| c.node_is(victim, NodeState::Healthy))?;
    c.expect("surplus replicas are deleted from disks", minutes(10), |c| {
        in_two_racks(c)?;
        c.are_on_disks(&containers, 3)
    })?;
    c.whole(&keys)
}
