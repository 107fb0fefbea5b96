//! The disks of SCMs are lost one after the other, that of the primordial one too.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/scm-wiped",
    about: "SCMs with empty disks come back, the primordial one too: it makes no second cluster",
    run,
};

fn cluster_id(c: &mut Cluster) -> Result<String> {
    Ok(c.ask(|it| async move { it.scm.scm_info().await })??.cluster_id)
}

fn run() -> Result<()> {
    let all = [Scm(0), Scm(1), Scm(2)];
    let mut c = cluster(3, 1, 3).start()?;
    let mut keys = vec![c.put("before", 300_000)?];
    let id = cluster_id(&mut c)?;
    for scm in all {
        c.power_off([scm])?;
        c.wipe(scm, Part::All)?;
        keys.push(c.put(&format!("without {scm}"), 300_000)?);
        c.start([scm])?;
        c.expect("three vote and it has met a leader", minutes(2), |c| {
            let voters = c.scm_voters()?;
            ensure!(voters.len() == 3, "{voters:?} vote");
            Ok(())
        })?;
        c.advance(seconds(20))?;
        // It counts for the quorum: another one may fail.
        let leader = c.scm_leader()?;
        let down = all.into_iter().find(|of| *of != scm && (*of == leader || leader == scm));
        let down = down.context("another one")?;
        c.kill([down])?;
        c.expect("another SCM leads", minutes(1), |c| {
            let leader = c.scm_leader()?;
            ensure!(leader != down, "{leader} is killed");
            Ok(())
        })?;
        keys.push(c.put(&format!("with {scm}"), 300_000)?);
        c.start([down])?;
        c.advance(seconds(20))?;
    }
    // The primordial one without its disk, and one of the others is not there.
    c.power_off(all)?;
    c.wipe(Scm(0), Part::All)?;
    c.start([Scm(0), Scm(1)])?;
    c.expect_always("it gives no vote and makes no cluster", minutes(1), |c| {
        let leader = c.scm_leader();
        ensure!(leader.is_err(), "{leader:?} leads");
        Ok(())
    })?;
    c.start([Scm(2)])?;
    c.expect("an SCM leads", minutes(1), |c| c.scm_leader())?;
    let after = cluster_id(&mut c)?;
    ensure!(after == id, "{id} has become {after}");
    c.read(&keys)
}
