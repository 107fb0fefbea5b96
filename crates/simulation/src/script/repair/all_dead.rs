//! All DataNodes with replicas of a container die, and come back.

use proto::hdds::NodeState;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/all-dead",
    about: "all nodes of a container are dead for 15 minutes: it is kept, and whole when they are back",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 3).start()?;
    let mut keys = vec![c.put("closed", 300_000)?];
    c.close_containers()?;
    keys.push(c.put("open", 300_000)?);
    keys.push(c.put("small", 3_000)?);
    let containers = c.containers(&keys)?;
    let all = [Datanode(0), Datanode(1), Datanode(2)];
    c.power_off(all)?;
    for node in all {
        c.expect("it is dead", minutes(2), |c| c.node_is(node, NodeState::Dead))?;
    }
    c.expect_always("SCM keeps containers that have no replica", minutes(15), |c| {
        let known = c.all_containers()?;
        for id in &containers {
            ensure!(known.iter().any(|of| of.id == *id), "container {id} was deleted: {known:?}");
            let there = c.replicas(*id)?;
            ensure!(there.is_empty(), "container {id} is on {there:?}");
        }
        Ok(())
    })?;
    for node in all {
        c.start([node])?;
        c.advance(minutes(1))?;
    }
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(10), |c| c.whole(&keys))?;
    c.expect("all is settled", minutes(10), |c| c.settled())?;
    c.read(&keys)
}
