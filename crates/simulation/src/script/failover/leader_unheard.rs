//! The leader of a pipeline reaches clients and the other members, but not SCM; then its disk is
//! lost.

use proto::hdds::NodeState;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/leader-unheard",
    about: "SCM does not hear a leader that clients write through; later it loses its disk",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 4).start()?;
    let writers = c.write(8);
    c.expect("clients write", minutes(1), |_| writers.reached(16))?;
    let leader = c.expect("a key was just written", minutes(1), |c| {
        let newest = writers.keys().pop().context("there is no key")?;
        c.written_through(&newest)?.leader()
    })?;
    let before = writers.keys().len();
    c.cut(&[leader], &[Scm(0)])?;
    c.expect("SCM counts it as dead", minutes(2), |c| c.node_is(leader, NodeState::Dead))?;
    let now = writers.keys().len();
    c.expect("clients go on", minutes(1), |_| writers.reached(now + 16))?;
    writers.end_well(&mut c)?;

    let keys = writers.keys();
    let after = c.containers(&keys[before..])?;
    c.holds(leader, &after).context("no key was written through it that SCM did not hear")?;
    c.power_off([leader])?;
    c.wipe(leader, Part::All)?;
    c.read(&keys)?;
    c.mend(&[leader], &[Scm(0)])?;
    c.start([leader])?;
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(10), |c| c.whole(&keys))?;
    c.read(&keys)
}
