//! A member of a pipeline reaches SCM and clients, but not the other members.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/follower-unheard",
    about: "a member that only SCM and clients hear: its pipeline is replaced, and not too soon",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 4).start()?;
    let first = c.put("before", 300_000)?;
    let pipeline = c.expect("a member leads", minutes(1), |c| c.written_through(&first))?;
    let silent = pipeline.followers()?[0];
    let datanodes = (0..4).map(Datanode).filter(|node| *node != silent);
    let others: Vec<Server> = datanodes.collect();
    c.cut(&[silent], &others)?;
    let mut keys = vec![first];
    for number in 0..16 {
        keys.push(c.put(&format!("apart-{number}"), 30_000)?);
        c.advance(seconds(15))?;
        let ids = c.pipeline_ids()?;
        ensure!(ids.contains(&pipeline.id), "{} is closed after {number} keys", pipeline.id);
    }
    c.lack_replicas(&keys)?;
    c.expect("its pipeline is closed", minutes(3), |c| {
        let ids = c.pipeline_ids()?;
        ensure!(!ids.contains(&pipeline.id), "{pipeline:?} is open");
        Ok(())
    })?;
    keys.push(c.put("later", 300_000)?);
    c.read(&keys)?;

    c.mend(&[silent], &others)?;
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(15), |c| c.whole(&keys))?;
    c.read(&keys)
}
