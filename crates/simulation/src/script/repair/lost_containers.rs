//! The disk with a DataNode's containers is replaced; the node keeps its id.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/lost-containers",
    about: "a DataNode loses its containers and not its identity: they are made again",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 4).start()?;
    let keys = [c.put("one", 3_000)?, c.put("two", 300_000)?, c.put("three", 1 << 20)?];
    let containers = c.containers(&keys)?;
    c.close_containers()?;
    c.expect("all is settled", minutes(5), |c| c.settled())?;
    let victim = c.written_to(&keys)?[0];
    c.kill([victim])?;
    c.holds(victim, &containers)?;
    c.wipe(victim, Part::Data)?;
    ensure!(c.on_disk(victim)?.is_empty(), "{victim} has lost nothing");
    c.lack_replicas(&keys)?;
    c.start([victim])?;
    c.expect("three replicas of each block again", minutes(10), |c| {
        c.settled()?;
        c.are_on_disks(&containers, 3)?;
        c.whole(&keys)
    })?;
    c.read(&keys)
}
