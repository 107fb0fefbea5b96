//! A fourth SCM joins, and the one that leads is decommissioned.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/scm-joins",
    about: "a fourth SCM joins while clients write; the leader is decommissioned, and another killed",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(3, 1, 3).with("trioxide.om.block.pool.size", "4").start()?;
    let writers = c.write(2);
    c.expect("clients write", minutes(1), |_| writers.reached(10))?;
    c.join(Scm(3))?;
    c.expect("it votes", minutes(2), |c| {
        let voters = c.scm_voters()?;
        ensure!(voters == [Scm(0), Scm(1), Scm(2), Scm(3)], "{voters:?} vote");
        Ok(())
    })?;
    let gone = c.scm_leader()?;
    let refused = c.decommission_scm(Scm(8))?;
    ensure!(refused.as_ref().is_some_and(|why| why.contains("scm9")), "{refused:?}");
    c.let_end(gone)?;
    c.expect("it is decommissioned", minutes(1), |c| {
        let refused = c.decommission_scm(gone)?;
        ensure!(refused.is_none(), "{refused:?}");
        Ok(())
    })?;
    c.name(gone, false)?;
    c.expect("it stops by itself", minutes(1), |c| {
        ensure!(!c.runs(gone), "{gone} runs");
        Ok(())
    })?;
    let voters = c.expect("three are left", minutes(1), |c| {
        let voters = c.scm_voters()?;
        ensure!(voters.len() == 3 && !voters.contains(&gone), "{voters:?} vote");
        Ok(voters)
    })?;
    let down = voters.into_iter().find(|scm| *scm != Scm(3)).context("one is left")?;
    c.kill([down])?;
    let before = writers.keys().len();
    c.expect("clients go on", minutes(2), |_| writers.reached(before + 15))?;
    c.expect("one of the two leads", minutes(1), |c| c.scm_leader())?;
    writers.end_well(&mut c)?;
    c.read(&writers.keys())
}
