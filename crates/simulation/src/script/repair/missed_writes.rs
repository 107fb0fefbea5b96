//! A DataNode is down until its pipelines are closed, and the others continue to write.

use proto::hdds::NodeState;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/missed-writes",
    about: "a DataNode comes back that has missed the ends of its containers: it gets them",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 4).start()?;
    let writers = c.write(3);
    c.expect("clients write", minutes(1), |_| writers.reached(15))?;
    // One that follows: the others write on in its containers, until SCM closes their pipeline.
    let newest = writers.keys().pop().context("there is no key")?;
    let victim = c.written_through(&newest)?.followers()?[0];
    let had = c.on_disk(victim)?;
    c.kill([victim])?;
    let before = writers.keys().len();
    c.expect("it misses ends of its containers", minutes(1), |c| {
        let missed = c.containers(&writers.keys()[before..])?;
        let both = missed.iter().filter(|id| had.contains(id)).count();
        ensure!(both > 0, "{victim} had {had:?}, {missed:?} are written to");
        Ok(())
    })?;
    c.expect("it is dead", minutes(2), |c| c.node_is(victim, NodeState::Dead))?;
    c.expect("much is written without it", minutes(3), |_| writers.reached(before + 60))?;
    writers.end_well(&mut c)?;
    c.start([victim])?;
    c.expect("it is back", minutes(2), |c| c.node_is(victim, NodeState::Healthy))?;
    c.close_containers()?;
    let keys = writers.keys();
    let containers = c.containers(&keys)?;
    c.expect("three replicas of each block", minutes(15), |c| {
        c.settled()?;
        c.are_on_disks(&containers, 3)?;
        c.whole(&keys)
    })?;
    c.read(&keys)
}
