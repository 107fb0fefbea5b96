//! A key is written and deleted while a member of its pipeline is down, which then reaches its
//! block in the log.

use proto::datanode::container_data_proto::State;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/deleted-meanwhile",
    about: "a member comes to a block that the others have deleted: its replica stays good",
    run,
};

fn run() -> Result<()> {
    // Deletions reach DataNodes before SCM closes the pipeline of a member that is down.
    let setup = cluster(1, 1, 3).with("trioxide.om.deleted.blocks.kept", "0s");
    let setup = setup.with("trioxide.om.key.deleting.service.interval", "1s");
    let mut c = setup.with("ozone.block.deleting.service.interval", "500ms").start()?;
    let kept = [c.put("kept", 1 << 20)?];
    let pipelines = c.pipeline_ids()?;
    let pipeline = c.expect("a member leads", minutes(1), |c| c.written_through(&kept[0]))?;
    let followers = pipeline.followers()?;
    let others = [pipeline.leader()?, followers[1]];
    let away = followers[0];
    let containers = c.containers(&kept)?;
    let id = *containers.first().context("it has no container")?;

    c.kill([away])?;
    // Its chunks are not in the log.
    let mut gone = Vec::new();
    while !c.containers(&gone)?.contains(&id) {
        ensure!(gone.len() < 6, "no key was written to container {id}");
        gone.push(c.put(&format!("gone-{}", gone.len()), 2 << 20)?);
    }
    c.expect("the others have it", seconds(2), |c| {
        for node in others {
            let bytes = c.bytes_of_blocks(node)?;
            ensure!(bytes >= 3 << 20, "{node} has {bytes} bytes of blocks");
        }
        Ok(())
    })?;
    for key in &gone {
        c.delete(key)?;
    }
    c.expect("the others delete it", seconds(5), |c| {
        for node in others {
            let bytes = c.bytes_of_blocks(node)?;
            ensure!(bytes < 2 << 20, "{node} has {bytes} bytes of blocks");
        }
        Ok(())
    })?;
    // A leader has the last entries in memory, bytes and all; not after a restart.
    c.kill(others)?;
    c.start(others)?;
    c.start([away])?;
    let last = c.expect("a key is written", seconds(30), |c| c.put("last", 3_000))?;
    let both = [kept[0].clone(), last];
    c.expect("it has what comes later", minutes(1), |c| c.whole(&both))?;
    ensure!(c.pipeline_ids()? == pipelines, "there are other pipelines than {pipelines:?}");
    c.close_containers()?;
    for node in [others[0], others[1], away] {
        let state = c.state_on(node, id)?;
        ensure!(state == State::Closed, "{id} on {node} is {state:?}");
    }
    c.expect("all is settled", minutes(5), |c| c.settled())?;
    c.read(&both)
}
