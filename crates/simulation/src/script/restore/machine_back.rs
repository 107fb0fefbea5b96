//! A whole machine is set back in time, as when a snapshot of a virtual machine is restored.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "restore/machine-back",
    about: "an OM and an SCM whose machines were rolled back catch up while the others serve",
    run,
};

fn run() -> Result<()> {
    let (oms, scms) = ([Om(0), Om(1), Om(2)], [Scm(0), Scm(1), Scm(2)]);
    let mut c = cluster(3, 3, 3).start()?;
    let mut keys = vec![c.put("before", 3_000)?];
    let (om_leader, scm_leader) = (c.om_leader()?, c.scm_leader()?);
    let om = oms.into_iter().find(|om| *om != om_leader).context("one follows")?;
    let scm = scms.into_iter().find(|scm| *scm != scm_leader).context("one follows")?;
    for server in [om, scm] {
        c.copy(server, Part::All)?;
    }
    for number in 0..30 {
        keys.push(c.put(&format!("after-{number}"), 300_000)?);
    }
    c.power_off([om, scm])?;
    for server in [om, scm] {
        c.put_back(server, Part::All)?;
    }
    keys.push(c.put("without them", 3_000)?);
    c.start([om, scm])?;
    c.expect("it has all", minutes(2), |c| c.om_is_even(om))?;
    c.advance(seconds(30))?;
    // They count for the quorum: others may fail.
    c.kill([om_leader, scm_leader])?;
    keys.push(c.expect("a key is written", minutes(3), |c| c.put("with them", 3_000))?);
    c.start([om_leader, scm_leader])?;
    for om in oms {
        c.expect("it has all", minutes(2), |c| c.om_is_even(om))?;
        c.leads_and_has_all(om, &keys)?;
    }
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(10), |c| c.whole(&keys))
}
