//! The tables of OMs go back in time, and their logs do not.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "restore/om-tables-back",
    about: "OMs with older tables apply again what their logs have, and do not start without it",
    run,
};

fn run() -> Result<()> {
    let all = [Om(0), Om(1), Om(2)];
    // Tables are flushed and the log is trimmed after every fifty changes.
    let setup = cluster(1, 3, 3).with("ozone.om.ratis.snapshot.auto.trigger.threshold", "50");
    let mut c = setup.start()?;
    let gone = c.put("deleted", 3_000)?;
    let mut keys = vec![c.put("before", 3_000)?];
    let leader = c.om_leader()?;
    let om = all.into_iter().find(|om| *om != leader).context("one follows")?;
    for om in all {
        c.copy(om, Part::State)?;
    }
    for number in 0..5 {
        keys.push(c.put(&format!("in-the-log-{number}"), 100)?);
    }
    c.delete(&gone)?;

    // The log of each has what the tables lack.
    c.power_off([om])?;
    c.put_back(om, Part::State)?;
    keys.push(c.put("without it", 100)?);
    c.start([om])?;
    c.expect("it has all", minutes(2), |c| c.om_is_even(om))?;
    c.power_off(all)?;
    for om in all {
        c.put_back(om, Part::State)?;
    }
    c.start(all)?;
    for om in all {
        c.expect("it has all", minutes(2), |c| c.om_is_even(om))?;
        c.leads_and_has_all(om, &keys)?;
        ensure!(c.read(std::slice::from_ref(&gone)).is_err(), "{om} has a key that was deleted");
    }

    // The log of one does not reach back that far any more.
    for number in 0..100 {
        keys.push(c.put(&format!("behind-the-log-{number}"), 100)?);
    }
    c.power_off([om])?;
    c.put_back(om, Part::State)?;
    c.expect_refusal(om, minutes(1))?;
    keys.push(c.put("while it does not start", 100)?);
    c.wipe(om, Part::Log)?;
    c.start([om])?;
    c.expect("it has all", minutes(2), |c| c.om_is_even(om))?;
    for om in all {
        c.leads_and_has_all(om, &keys)?;
        ensure!(c.read(std::slice::from_ref(&gone)).is_err(), "{om} has a key that was deleted");
    }
    Ok(())
}
