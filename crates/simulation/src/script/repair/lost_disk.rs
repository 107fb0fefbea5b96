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
    let containers = c.containers(&keys)?;
    let victim = c.written_to(&keys)?[0];
    let lost = c.holds(victim, &containers)?;

    c.power_off([victim])?;
    c.wipe(victim, Part::All)?;
    ensure!(c.on_disk(victim)?.is_empty(), "{victim} has lost nothing");
    c.lack_replicas(&keys)?;
    c.read(&keys)?;
    c.start([victim])?;
    c.expect("its containers are on three disks again", minutes(10), |c| {
        c.settled()?;
        c.are_on_disks(&lost, 3)?;
        c.whole(&keys)
    })?;
    c.read(&keys)
}
