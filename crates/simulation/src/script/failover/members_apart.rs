//! The members of a pipeline cannot reach each other, but all reach SCM.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/members-apart",
    about: "a pipeline whose members reach only SCM is replaced, and not too soon",
    run,
};

fn run() -> Result<()> {
    let fourth = Datanode(3);
    let mut c = cluster(1, 1, 4).start_without(&[fourth])?;
    let mut keys = vec![c.put("before", 300_000)?];
    let pipelines = c.pipeline_ids()?;
    let nodes = [Datanode(0), Datanode(1), Datanode(2)];
    for [one, other] in [[0, 1], [0, 2], [1, 2]] {
        c.cut(&[nodes[one]], &[nodes[other]])?;
    }
    c.expect_always("they stay open", minutes(4), |c| {
        let ids = c.pipeline_ids()?;
        ensure!(ids == pipelines, "{ids:?} are open, {pipelines:?} were");
        Ok(())
    })?;
    c.expect("all are closed", minutes(3), |c| {
        let ids = c.pipeline_ids()?;
        ensure!(ids.is_disjoint(&pipelines), "{ids:?} are open");
        Ok(())
    })?;
    c.read(&keys)?;

    for [one, other] in [[0, 1], [0, 2], [1, 2]] {
        c.mend(&[nodes[one]], &[nodes[other]])?;
    }
    // One that gets what one of them alone may lack.
    c.start([fourth])?;
    keys.push(c.expect("keys can be written", minutes(10), |c| c.put("after", 300_000))?);
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(15), |c| c.whole(&keys))?;
    c.read(&keys)
}
