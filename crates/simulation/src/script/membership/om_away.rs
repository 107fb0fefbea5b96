//! An OM is down for longer than the log reaches back, and another one loses only its log.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/om-away",
    about: "an OM that was away past the log, and one that lost its log alone, come back and lead",
    run,
};

/// Checkpoints of another OM that one has taken since it started.
const SNAPSHOTS: &str = "om_raft_snapshots_restored";

fn run() -> Result<()> {
    // Tables are flushed and the log is trimmed after every twenty changes.
    let setup = cluster(1, 3, 3).with("ozone.om.ratis.snapshot.auto.trigger.threshold", "20");
    let mut c = setup.with("ozone.om.http.enabled", "true").start()?;
    let mut keys = vec![c.put("before", 3_000)?];
    let leader = c.om_leader()?;
    let mut others = [Om(0), Om(1), Om(2)].into_iter().filter(|om| *om != leader);
    let (away, lost) = (others.next().context("one")?, others.next().context("two")?);
    c.kill([away])?;
    for number in 0..100 {
        keys.push(c.put(&format!("missed-{number}"), 100)?);
    }
    c.start([away])?;
    c.expect("it has all", minutes(2), |c| c.om_is_even(away))?;
    let restored = c.metric(away, SNAPSHOTS)?;
    ensure!(
        restored > 0.0,
        "{away} restored no checkpoint: the log reached back to what it lacked"
    );
    c.leads_and_has_all(away, &keys)?;

    c.power_off([lost])?;
    let manifest = c.home(lost)?.join("om/raft-log.manifest");
    ensure!(manifest.is_file(), "what the log was like is not with the tables");
    c.wipe(lost, Part::Log)?;
    keys.push(c.put("without the log", 100)?);
    c.start([lost])?;
    c.expect("it has all", minutes(2), |c| c.om_is_even(lost))?;
    for om in [lost, leader, away] {
        c.leads_and_has_all(om, &keys)?;
    }
    Ok(())
}
