//! All SCMs are replaced while OM and DataNodes run.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/scms-replaced",
    about: "three SCMs join and the three old ones leave while OM and DataNodes run on",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(3, 1, 3).with("trioxide.om.block.pool.size", "4").start()?;
    let mut keys = vec![c.put("before", 300_000)?];
    let vote = |count: usize| {
        move |c: &mut Cluster| {
            let voters = c.scm_voters()?;
            ensure!(voters.len() == count, "{voters:?} vote");
            Ok(())
        }
    };
    for number in 3..6 {
        c.join(Scm(number))?;
        c.expect("it votes", minutes(3), vote(number + 1))?;
    }
    for number in 0..3 {
        let gone = Scm(number);
        c.let_end(gone)?;
        c.expect("it is decommissioned", minutes(2), |c| {
            let refused = c.decommission_scm(gone)?;
            ensure!(refused.is_none(), "{refused:?}");
            Ok(())
        })?;
        c.expect("it stops by itself", minutes(1), |c| {
            ensure!(!c.runs(gone), "{gone} runs");
            Ok(())
        })?;
        c.expect("it votes no more", minutes(2), vote(5 - number))?;
    }
    // None of the SCMs that OM and DataNodes began with is left.
    for number in 0..12 {
        keys.push(c.put(&format!("with others {number}"), 300_000)?);
    }
    let leader = c.scm_leader()?;
    c.kill([leader])?;
    for number in 0..12 {
        keys.push(c.put(&format!("when one of them fails {number}"), 300_000)?);
    }
    c.read(&keys)
}
