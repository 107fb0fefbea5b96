//! A DataNode comes back with less data than the others have, and no other one can get a copy.

use proto::hdds::NodeState;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/no-spare-node",
    about: "one of three DataNodes comes back with less than the others: copies replace what it has",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 3).start()?;
    let mut keys = vec![c.put("before", 300_000)?];
    let containers = c.containers(&keys)?;
    let id = *containers.first().context("it has no container")?;
    let pipeline = c.expect("a member leads", minutes(1), |c| c.written_through(&keys[0]))?;
    let follower = pipeline.followers()?[0];
    c.kill([follower])?;
    let mut is_behind = false;
    while !is_behind || keys.len() < 4 {
        let number = keys.len();
        ensure!(number < 24, "no key is written to {id} without {follower}");
        keys.push(c.put(&format!("missed-{number}"), 3_000 + 20_000 * number)?);
        is_behind |= c.containers(&keys[number..])?.contains(&id);
    }
    c.expect("it is dead", minutes(2), |c| c.node_is(follower, NodeState::Dead))?;
    // The pipelines whose logs have the missing data do not exist any more.
    c.close_containers()?;
    c.lack_replicas(&keys)?;
    let there = c.on_disk(follower)?;
    ensure!(there.contains(&id), "{follower} has {there:?}");
    c.start([follower])?;
    c.expect("it is back", minutes(2), |c| c.node_is(follower, NodeState::Healthy))?;
    c.expect("all is closed and settled", minutes(5), |c| c.settled())?;
    c.whole(&keys)?;
    c.power_off([follower])?;
    c.start([follower])?;
    c.expect("it has the same after a loss of power", minutes(5), |c| c.whole(&keys))?;
    c.expect("SCM has nothing to repair", minutes(5), |c| c.settled())?;
    c.read(&keys)
}
