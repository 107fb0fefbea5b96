//! Two of three members of a pipeline are lost with the decision on what the third one has in its
//! log.

use bytes::Bytes;
use proto::datanode::container_data_proto::State;
use types::{PipelineId, PortName};

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/undecided",
    about: "a member alone with undecided entries closes its pipeline, and not too soon",
    run,
};

/// Entries that were written to a DataNode's logs since it was started.
const LOGGED: &str = "datanode_raft_log_entries_total";

/// Presence that a member reports for a pipeline without a local trace; for one that it closed with
/// all committed entries it would report 1.
const ABSENT: u8 = 2;

/// Presence of a pipeline that a DataNode reports to other members.
fn presence(c: &mut Cluster, node: Server, id: PipelineId) -> Result<u8> {
    let address = c.details(node)?.address(&PortName::Native).context("it has no port")?;
    let question = Bytes::copy_from_slice(id.0.as_bytes());
    let answer = c.ask(move |it| async move {
        let client = it.pool.get(&address);
        client.call(proto::method::PIPELINE_PRESENCE, question, Bytes::new(), seconds(5)).await
    })?;
    Ok(*answer?.header.last().context("it says nothing")?)
}

fn run() -> Result<()> {
    let fourth = Datanode(3);
    let mut c = cluster(1, 1, 4).start_without(&[fourth])?;
    let key = c.put("before", 300_000)?;
    let container = c.containers(std::slice::from_ref(&key))?;
    let id = *container.first().context("it has no container")?;
    let pipeline = c.expect("a member leads", minutes(1), |c| c.written_through(&key))?;
    let (alone, others) = (pipeline.leader()?, pipeline.followers()?);
    let logged = c.metric(alone, LOGGED)?;
    c.kill(others.clone())?;
    // No quorum can commit their writes.
    let writers = c.write(4);
    c.advance(seconds(3))?;
    let entries = c.metric(alone, LOGGED)? - logged;
    ensure!(entries > 0.0, "nothing came to the log of {alone}");
    ensure!(writers.keys().is_empty(), "{:?} are acknowledged", writers.keys());
    c.expect("SCM closes its pipelines", seconds(30), |c| {
        let ids = c.pipeline_ids()?;
        ensure!(!ids.contains(&pipeline.id), "{ids:?} are open");
        Ok(())
    })?;
    c.expect_always("it waits for the others", minutes(8), |c| {
        let state = c.state_on(alone, id)?;
        ensure!(matches!(state, State::Open | State::Closing), "{id} is {state:?}");
        Ok(())
    })?;
    c.expect("it waits no more", minutes(5), |c| {
        let state = c.state_on(alone, id)?;
        ensure!(state == State::QuasiClosed, "{id} is {state:?}");
        Ok(())
    })?;
    c.read(std::slice::from_ref(&key))?;
    let answer = presence(&mut c, alone, pipeline.id)?;
    ensure!(answer == ABSENT, "{alone} says {answer} of the pipeline that it closed");

    c.start(others)?;
    // One that gets what the member alone lacks.
    c.start([fourth])?;
    writers.stop();
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(15), |c| c.whole(std::slice::from_ref(&key)))?;
    c.expect("all is closed and settled", minutes(5), |c| c.settled())?;
    c.read(&[key])
}
