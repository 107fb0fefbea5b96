//! SCMs that start with empty disks: which cluster are they of?

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/scm-first-start",
    about: "the primordial SCM makes a cluster when all others are there, and never a second one",
    run,
};

/// Waiting time of SCMs that may not continue: each asks the others hundreds of times.
const LONG: std::time::Duration = minutes(2);

/// Checks that an SCM has the directory of a cluster.
fn is_formatted(c: &Cluster, scm: Server) -> Result<bool> {
    Ok(c.home(scm)?.join("scm/current/VERSION").is_file())
}

fn none_is_formatted(c: &mut Cluster, scms: &[Server]) -> Result<()> {
    for scm in scms {
        ensure!(!is_formatted(c, *scm)?, "{scm} has the directory of a cluster");
        let leader = c.scm_leader_by(*scm);
        ensure!(leader.is_err(), "{scm} serves, and {leader:?} leads");
    }
    Ok(())
}

/// The cluster that all of them are of.
fn cluster_id(c: &mut Cluster, scms: &[Server]) -> Result<String> {
    let mut ids = Vec::new();
    for scm in scms {
        ids.push(c.info_of(*scm)?.cluster_id);
    }
    ids.dedup();
    ensure!(ids.len() == 1, "they are of {ids:?}");
    ids.pop().context("no SCM")
}

fn run() -> Result<()> {
    let all = [Scm(0), Scm(1), Scm(2)];
    let mut c = cluster(3, 1, 0).place()?;
    c.start([Scm(0), Scm(1)])?;
    c.expect_always("two of three begin nothing", LONG, |c| none_is_formatted(c, &all[..2]))?;
    c.start([Scm(2)])?;
    c.expect("an SCM leads", minutes(1), |c| c.scms_agree())?;
    let first = cluster_id(&mut c, &all)?;

    // The primordial one has lost its disk and reaches no SCM, then one that lost its own, too.
    c.power_off(all)?;
    for scm in [Scm(0), Scm(1)] {
        ensure!(is_formatted(&c, scm)?, "{scm} had a cluster");
        c.wipe(scm, Part::All)?;
    }
    c.start([Scm(0)])?;
    c.expect_always("it makes no second cluster", LONG, |c| none_is_formatted(c, &all[..1]))?;
    c.start([Scm(1)])?;
    c.expect_always("nor do both of them", LONG, |c| none_is_formatted(c, &all[..2]))?;
    c.start([Scm(2)])?;
    c.expect("all are of the first cluster", minutes(1), |c| {
        let id = cluster_id(c, &all)?;
        ensure!(id == first, "{first} has become {id}");
        Ok(())
    })?;
    // Two of three have lost their disks: the group stops, and is not recreated.
    c.expect_always("none of them leads", LONG, |c| {
        let leader = c.scm_leader();
        ensure!(leader.is_err(), "{leader:?} leads");
        Ok(())
    })
}
