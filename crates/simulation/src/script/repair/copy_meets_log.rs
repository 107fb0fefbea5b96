//! A member of a pipeline lags in its log, and the missing data is copied to it. Then the log
//! arrives, while copies are in flight.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/copy-meets-log",
    about: "a pipeline's log makes the replicas of which copies are on their way",
    run,
};

fn run() -> Result<()> {
    // A copy is in flight for as long as those before it would have taken.
    let setup = cluster(1, 1, 3).with("trioxide.datanode.replication.bandwidth", "1KB");
    let mut c = setup.with("ozone.datanode.pipeline.limit", "1").start()?;
    let (leader, members) = c.expect("a pipeline has a leader", minutes(2), |c| {
        c.led_pipelines()?.into_iter().next().context("no pipeline")
    })?;
    let behind = members.into_iter().find(|of| *of != leader).context("one that follows")?;
    c.cut(&[behind], &[leader])?;
    let mut keys = Vec::new();
    for round in 0..4 {
        // Containers that were open before are on all three.
        c.close_open_containers()?;
        c.advance(seconds(5))?;
        for number in 0..12 {
            keys.push(c.put(&format!("missed-{round}-{number}"), 3_000)?);
        }
    }
    c.close_open_containers()?;
    let has = c.on_disk(behind)?;
    c.expect("copies are on their way", minutes(4), |c| {
        let coming = c.arriving(behind)?;
        ensure!(coming.len() > 1 && coming.is_disjoint(&has), "{coming:?} come");
        Ok(())
    })?;
    c.mend(&[behind], &[leader])?;
    // The copies end, and the next start finds their leftovers.
    c.advance(minutes(2))?;
    c.kill([behind])?;
    c.start([behind])?;
    c.expect_always("no replica is damaged", seconds(40), |c| {
        for container in c.containers(&keys)? {
            let replicas = c.replicas(container)?;
            let is_damaged = replicas.iter().any(|replica| replica.state == "UNHEALTHY");
            ensure!(!is_damaged, "container {container}: {replicas:?}");
        }
        Ok(())
    })?;
    // A copy that was complete before the log arrived applies none of its entries: the pipeline is
    // closed, and other replicas may lack their ends. A node with such a replica is no target of
    // copies, so that another node is needed.
    c.join(Datanode(3))?;
    c.expect("three replicas of each block", minutes(15), |c| c.whole(&keys))?;
    c.read(&keys)
}
