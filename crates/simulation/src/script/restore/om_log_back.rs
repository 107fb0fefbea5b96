//! The log of an OM is set back in time, and its tables are not.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "restore/om-log-back",
    about: "an OM with an older copy of its log does not start, and catches up without it",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 3, 3).start()?;
    let mut keys = vec![c.put("before", 3_000)?];
    let leader = c.om_leader()?;
    let others: Vec<Server> =
        [Om(0), Om(1), Om(2)].into_iter().filter(|om| *om != leader).collect();
    let (om, behind) = (others[0], others[1]);
    c.copy(om, Part::Log)?;
    // New entries are on the leader and the one whose log is restored to an earlier state.
    c.kill([behind])?;
    for number in 0..20 {
        keys.push(c.put(&format!("after-{number}"), 100)?);
    }
    c.kill([leader, om])?;
    c.put_back(om, Part::Log)?;
    c.expect_refusal(om, minutes(1))?;
    c.wipe(om, Part::Log)?;
    // Two of three, and both lack what was acknowledged.
    c.start([om, behind])?;
    c.expect_always("none of them leads", minutes(1), |c| {
        let leads = c.om_leader();
        ensure!(leads.is_err(), "{leads:?} leads");
        Ok(())
    })?;
    c.start([leader])?;
    for om in [om, behind, leader] {
        c.expect("it has all", minutes(2), |c| c.om_is_even(om))?;
        c.leads_and_has_all(om, &keys)?;
    }
    Ok(())
}
