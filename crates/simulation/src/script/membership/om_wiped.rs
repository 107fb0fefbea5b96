//! An OM's disk is lost and replaced by an empty one, after other members have joined and left.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/om-wiped",
    about: "OMs with empty disks come back one by one, into a service with another member by now",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 3, 3).start()?;
    let mut keys = vec![c.put("one", 3_000)?];
    c.join(Om(3))?;
    c.expect("four belong to it", minutes(2), |c| {
        let voters = c.om_voters()?;
        ensure!(voters.len() == 4, "{voters:?} vote");
        Ok(())
    })?;
    let leader = c.om_leader()?;
    let mut others = [Om(0), Om(1), Om(2)].into_iter().filter(|om| *om != leader);
    let (gone, wiped) = (others.next().context("one")?, others.next().context("two")?);
    let host = c.machines().address(gone)?;
    c.name(gone, false)?;
    c.let_end(gone)?;
    let (is_done, why) = c.decommission_om(gone, &host)?;
    ensure!(is_done, "{why}");
    keys.push(c.put("two", 3_000)?);

    for om in [wiped, leader, Om(3)] {
        c.power_off([om])?;
        c.wipe(om, Part::All)?;
        keys.push(
            c.expect("the others write", minutes(1), |c| c.put(&format!("without {om}"), 3_000))?,
        );
        c.start([om])?;
        c.expect("it has all", minutes(2), |c| c.om_is_even(om))?;
        // It counts for the quorum: another one may fail.
        let next = c.expect("an OM leads", minutes(1), |c| c.om_leader())?;
        let down = if next == om {
            [wiped, leader, Om(3)].into_iter().find(|of| *of != om)
        } else {
            Some(next)
        };
        let down = down.context("another one")?;
        c.kill([down])?;
        c.expect("two of three go on", minutes(1), |c| c.read(&keys))?;
        c.start([down])?;
        c.expect("it is back", minutes(1), |c| c.om_is_even(down))?;
    }
    c.read(&keys)
}
