//! The DataNode that rebuilds lost indexes, for itself and for another one, is killed meanwhile.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "repair/coordinator-killed",
    about: "the DataNode that rebuilds two indexes is killed: no part counts, all is rebuilt",
    run,
};

fn run() -> Result<()> {
    // Some seconds for each index.
    let setup = cluster(1, 1, 7).with("trioxide.datanode.replication.bandwidth", "1MB");
    let mut c = setup.start()?;
    let keys = [c.put_coded("coded", 28 << 20, "rs-3-2-512k")?];
    let group = c.written_to(&keys)?;
    ensure!(group.len() == 5, "{group:?} are no group of five");
    let spare: Vec<Server> = (0..7).map(Datanode).filter(|node| !group.contains(node)).collect();
    let containers = c.containers(&keys)?;
    let id = *containers.first().context("it has no container")?;
    c.close_containers()?;
    c.expect("every index is there", minutes(5), |c| c.settled())?;

    let lost = [group[0], group[1]];
    c.power_off(lost)?;
    for node in lost {
        c.wipe(node, Part::All)?;
    }
    c.lack_replicas(&keys)?;
    let [one, other] = spare[..] else { bail!("{spare:?} are not two") };
    let what = "one rebuilds, and the other one has a part of its replica";
    let (coordinator, target) = c.expect(what, minutes(5), |c| {
        for (node, target) in [(one, other), (other, one)] {
            let rebuilds = c.metric(node, "datanode_reconstruct_ec_running")? > 0.0;
            if rebuilds && c.arriving(target)?.contains(&id) {
                return Ok((node, target));
            }
        }
        bail!("{one} has parts of {:?}, {other} of {:?}", c.arriving(one)?, c.arriving(other)?)
    })?;
    c.kill([coordinator])?;
    c.expect_always("its partial replica does not count", seconds(20), |c| {
        let there = c.replicas(id)?;
        ensure!(there.iter().all(|replica| replica.on != target), "{there:?}");
        Ok(())
    })?;
    c.read(&keys)?;
    c.start(lost)?;
    c.expect("every index is there again", minutes(60), |c| {
        c.settled()?;
        c.whole(&keys)
    })?;

    c.start([coordinator])?;
    c.expect("surplus replicas are deleted", minutes(15), |c| {
        c.settled()?;
        c.are_on_disks(&containers, 5)
    })?;
    c.read(&keys)
}
