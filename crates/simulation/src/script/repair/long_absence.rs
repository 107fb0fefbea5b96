//! All replicas of containers are down, while SCM starts, for longer than any of its intervals.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/long-absence",
    about: "all replicas are away for 15 minutes while SCMs start: all are kept when they are back",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(3, 1, 3).start()?;
    let mut keys = vec![c.put("open", 300_000)?];
    c.close_containers()?;
    keys.push(c.put("closed later", 1 << 20)?);
    keys.push(c.put("small", 3_000)?);
    let holders = [Datanode(0), Datanode(1), Datanode(2)];
    let containers = c.containers(&keys)?;
    c.are_on_disks(&containers, 3)?;
    c.power_off(holders.into_iter().chain([Scm(0), Scm(1), Scm(2)]))?;
    c.start([Scm(0), Scm(1), Scm(2)])?;
    // Others, so that SCM has nodes and a pipeline.
    for number in 3..6 {
        c.join(Datanode(number))?;
    }
    c.advance(minutes(15))?;
    for id in &containers {
        let there = c.replicas(*id)?;
        ensure!(there.is_empty(), "container {id} is not away: {there:?}");
    }
    // They have not registered with the SCMs since those started.
    let known: Vec<Server> = c.nodes()?.into_iter().map(|(server, _)| server).collect();
    ensure!(known.iter().all(|server| !holders.contains(server)), "{known:?} have registered");
    for holder in holders {
        c.start([holder])?;
        c.advance(minutes(2))?;
    }
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(10), |c| c.whole(&keys))?;
    c.expect("all is settled", minutes(10), |c| c.settled())?;
    c.read(&keys)
}
