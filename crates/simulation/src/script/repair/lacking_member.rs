//! The member of a pipeline that lacks what was acknowledged is the first to be back, and the one
//! that led is lost.

use proto::datanode::container_data_proto::State;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/lacking-member",
    about: "a member that lacks acknowledged blocks waits for one that has them; a disk is lost",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 4).start()?;
    let mut keys = vec![c.put("before", 300_000)?];
    let containers = c.containers(&keys)?;
    let id = *containers.first().context("it has no container")?;
    let pipeline = c.expect("a member leads", minutes(1), |c| c.written_through(&keys[0]))?;
    let (leader, followers) = (pipeline.leader()?, pipeline.followers()?);
    let (lacks, has) = (followers[0], followers[1]);
    c.kill([lacks])?;
    let mut is_behind = false;
    while !is_behind || keys.len() < 6 {
        let number = keys.len();
        ensure!(number < 24, "no key is written to {id} without {lacks}");
        keys.push(c.put(&format!("missed-{number}"), 3_000 + 20_000 * number)?);
        is_behind |= c.containers(&keys[number..])?.contains(&id);
    }
    c.power_off([leader, has])?;
    c.wipe(leader, Part::All)?;

    // SCM has the pipeline closed: alone it must not.
    c.start([lacks])?;
    c.expect("SCM closes the pipeline", minutes(1), |c| {
        let ids = c.pipeline_ids()?;
        ensure!(!ids.contains(&pipeline.id), "{ids:?} are open");
        Ok(())
    })?;
    c.expect("it asks the others", minutes(2), |c| {
        let asked = c.metric(lacks, "datanode_pipeline_censuses")?;
        ensure!(asked >= 2.0, "{lacks} has asked {asked} times");
        Ok(())
    })?;
    c.expect_always("it waits for them", minutes(4), |c| {
        let state = c.state_on(lacks, id)?;
        ensure!(matches!(state, State::Open | State::Closing), "{id} is {state:?}");
        Ok(())
    })?;
    c.start([has])?;
    c.expect("both have all that was acknowledged", minutes(3), |c| c.read(&keys))?;
    c.start([leader])?;
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(15), |c| c.whole(&keys))?;
    c.read(&keys)
}
