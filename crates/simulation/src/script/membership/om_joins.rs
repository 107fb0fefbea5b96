//! A fourth OM joins a service while clients write, and the one that leads is decommissioned.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/om-joins",
    about: "a fourth OM joins while clients write; the leader is decommissioned, and another killed",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 3, 3).start()?;
    let writers = c.write(3);
    c.expect("clients write", minutes(1), |_| writers.reached(10))?;
    c.join(Om(3))?;
    c.expect("it votes", minutes(2), |c| {
        let voters = c.om_voters()?;
        ensure!(voters == [Om(0), Om(1), Om(2), Om(3)], "{voters:?} vote");
        Ok(())
    })?;
    c.expect("it has all", minutes(1), |c| c.om_is_even(Om(3)))?;

    let gone = c.om_leader()?;
    let host = c.machines().address(gone)?;
    let elsewhere = c.decommission_om(gone, "192.0.2.1")?;
    ensure!(!elsewhere.0, "{gone} is not at 192.0.2.1");
    c.name(gone, false)?;
    c.let_end(gone)?;
    let (is_done, why) = c.decommission_om(gone, &host)?;
    ensure!(is_done, "{gone} is not decommissioned: {why}");
    c.expect("it stops by itself", minutes(1), |c| {
        ensure!(!c.runs(gone), "{gone} runs");
        Ok(())
    })?;
    let voters = c.expect("three are left", minutes(1), |c| {
        let voters = c.om_voters()?;
        ensure!(voters.len() == 3 && !voters.contains(&gone), "{voters:?} vote");
        Ok(voters)
    })?;
    let (is_done, _) = c.decommission_om(Om(8), "192.0.2.1")?;
    ensure!(!is_done, "there is no om9");

    // The fourth counts: with one more down two of three continue.
    let next = c.expect("another one leads", minutes(1), |c| c.om_leader())?;
    let down = voters.into_iter().find(|om| *om != Om(3) && (*om == next || next == Om(3)));
    let down = down.context("one is left")?;
    c.kill([down])?;
    let before = writers.keys().len();
    c.expect("clients go on", minutes(2), |_| writers.reached(before + 15))?;
    writers.end_well(&mut c)?;
    c.read(&writers.keys())?;

    // Changes survive after all of them were down.
    let left = [Om(0), Om(1), Om(2), Om(3)].into_iter().filter(|om| *om != gone);
    c.power_off(left.clone())?;
    c.start(left)?;
    c.expect("an OM leads", minutes(1), |c| c.om_leader())?;
    let voters = c.om_voters()?;
    ensure!(voters.len() == 3 && !voters.contains(&gone), "{voters:?} vote");
    c.read(&writers.keys())
}
