//! The tables of SCMs go back in time, and their logs do not.

use std::collections::BTreeSet;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "restore/scm-tables-back",
    about: "SCMs with older tables apply again what their logs have, and do not start without it",
    run,
};

/// Makes an SCM the leader, and checks that it has all containers of keys.
fn leads_and_has_all(c: &mut Cluster, scm: Server, keys: &[Key]) -> Result<()> {
    c.expect(&format!("{scm} leads"), minutes(2), |c| {
        let name = scm.to_string();
        let _ = c.ask(move |it| async move { it.scm.transfer_leadership(Some(&name)).await })?;
        let leader = c.scm_leader()?;
        ensure!(leader == scm, "{leader} leads");
        Ok(())
    })?;
    let known: BTreeSet<_> = c.all_containers()?.into_iter().map(|seen| seen.id).collect();
    let used = c.containers(keys)?;
    ensure!(used.is_subset(&known), "{scm} has {known:?}, keys are in {used:?}");
    Ok(())
}

fn run() -> Result<()> {
    let all = [Scm(0), Scm(1), Scm(2)];
    // Tables are flushed and the log is trimmed after every fifty changes.
    let setup = cluster(3, 1, 3).with("ozone.scm.ha.ratis.snapshot.threshold", "50");
    let mut c = setup.with("ozone.scm.container.size", "1MB").start()?;
    let mut keys = vec![c.put("before", 300_000)?];
    let leader = c.scm_leader()?;
    let scm = all.into_iter().find(|scm| *scm != leader).context("one follows")?;
    for scm in all {
        c.copy(scm, Part::State)?;
    }
    keys.push(c.put("in the log", 700_000)?);
    c.close_open_containers()?;
    c.advance(seconds(5))?;
    keys.push(c.put("in the log, too", 700_000)?);

    // The log of each has what the tables lack.
    c.power_off(all)?;
    for scm in all {
        c.put_back(scm, Part::State)?;
    }
    c.start(all)?;
    keys.push(c.expect("keys are written", minutes(3), |c| c.put("after", 700_000))?);
    for scm in all {
        leads_and_has_all(&mut c, scm, &keys)?;
    }

    // The log of one does not reach back that far any more.
    for number in 0..30 {
        c.close_open_containers()?;
        c.advance(seconds(3))?;
        let name = format!("behind-the-log-{number}");
        keys.push(c.expect("a key is written", minutes(1), |c| c.put(&name, 200_000))?);
    }
    c.power_off([scm])?;
    c.put_back(scm, Part::State)?;
    c.expect_refusal(scm, minutes(1))?;
    c.wipe(scm, Part::Log)?;
    c.start([scm])?;
    c.advance(seconds(30))?;
    for scm in all {
        leads_and_has_all(&mut c, scm, &keys)?;
    }
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(10), |c| c.whole(&keys))?;
    c.read(&keys)
}
