//! A DataNode's disk is lost: its machine comes back with an empty one.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/lost-disk",
    about: "a DataNode comes back with an empty disk: all replicas are made again",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 4).start()?;
    let keys = [c.put("small", 3_000)?, c.put("large", 1 << 20)?, c.put("another", 300_000)?];
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(2), |c| c.whole(&keys))?;
    let container = c.containers(&keys[1..2])?.into_iter().next();
    let holders = c.replicas(container.unwrap_or_default())?;
    let victim = holders.first().map_or(Datanode(0), |replica| replica.on);

    c.power_off([victim])?;
    c.wipe(victim, Part::All)?;
    c.read(&keys)?;
    c.start([victim])?;
    c.expect("three replicas of each block again", minutes(10), |c| c.whole(&keys))?;
    c.read(&keys)
}
