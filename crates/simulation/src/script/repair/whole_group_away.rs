//! All DataNodes of an erasure-coded key are down while SCM starts, and come back two at a time.
//! SCM restarts once more meanwhile. An SCM that deletes containers without reported replicas loses
//! the key.

use std::collections::BTreeSet;

use types::ContainerId;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/whole-group-away",
    about: "a whole EC group is away while SCM starts twice, and comes back in twos: the key stays",
    run,
};

/// Checks that SCM has these containers, and no replica of them was reported.
fn nothing_is_heard_of(c: &mut Cluster, containers: &BTreeSet<ContainerId>) -> Result<()> {
    for id in containers {
        let there = c.replicas(*id)?;
        ensure!(there.is_empty(), "container {id} is not away: {there:?}");
    }
    Ok(())
}

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 9).start()?;
    let keys = [c.put_coded("coded", 3 << 20, "rs-3-2-512k")?];
    let group = c.written_to(&keys)?;
    ensure!(group.len() == 5, "{group:?} are no group of five");

    // Before any of them has reported that there is something in the container.
    c.kill(group.iter().copied().chain([Scm(0)]))?;
    c.start([Scm(0)])?;
    let containers = c.containers(&keys)?;
    c.advance(minutes(12))?;
    // SCM restarts. The pipeline was removed: only the record names the nodes that may have it.
    c.kill([Scm(0)])?;
    c.start([Scm(0)])?;
    c.advance(minutes(12))?;
    nothing_is_heard_of(&mut c, &containers)?;
    for two in group.chunks(2) {
        c.start(two.iter().copied())?;
        c.advance(minutes(5))?;
    }
    c.expect("every index is there", minutes(15), |c| c.whole(&keys))?;
    for away in group.chunks(2) {
        c.kill(away.iter().copied())?;
        c.read(&keys)?;
        c.start(away.iter().copied())?;
    }
    Ok(())
}
