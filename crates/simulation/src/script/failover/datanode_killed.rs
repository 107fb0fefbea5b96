//! DataNodes are killed while clients write through them.

use proto::hdds::NodeState;

use crate::script::keys::Writers;
use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/datanode-killed",
    about: "the leader of a pipeline, then a follower is killed while clients write: none sees it",
    run,
};

/// Keys that are written until the next step.
const KEYS: usize = 40;

/// The leader, or a follower, of the pipeline that the newest key was written through; it has the
/// key's container.
fn member(c: &mut Cluster, writers: &Writers, leads: bool) -> Result<Server> {
    let newest = writers.keys().pop().context("there is no key")?;
    let pipeline = c.written_through(&newest)?;
    let victim = if leads { pipeline.leader()? } else { pipeline.followers()?[0] };
    let containers = c.containers(&[newest])?;
    c.holds(victim, &containers)?;
    Ok(victim)
}

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 5).start()?;
    let writers = c.write(4);
    c.expect("clients write", minutes(1), |_| writers.reached(KEYS))?;

    let leader =
        c.expect("they write through a leader", minutes(1), |c| member(c, &writers, true))?;
    c.kill([leader])?;
    let before = writers.keys().len();
    c.expect("clients go on without the leader", minutes(3), |_| writers.reached(before + KEYS))?;
    c.start([leader])?;
    c.expect("it is back", minutes(2), |c| c.node_is(leader, NodeState::Healthy))?;

    let what = "they write through a follower";
    let follower = c.expect(what, minutes(1), |c| member(c, &writers, false))?;
    c.kill([follower])?;
    let before = writers.keys().len();
    c.expect("clients go on without it", minutes(3), |_| writers.reached(before + KEYS))?;
    writers.end_well(&mut c)?;

    let keys = writers.keys();
    c.lack_replicas(&keys)?;
    c.expect("it is dead", minutes(2), |c| c.node_is(follower, NodeState::Dead))?;
    c.close_containers()?;
    c.expect("three others have each block", minutes(10), |c| c.whole(&keys))?;
    c.expect("all is closed and settled", minutes(5), |c| c.settled())?;
    c.read(&keys)
}
