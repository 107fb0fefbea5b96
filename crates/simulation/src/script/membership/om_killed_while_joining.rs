//! An OM is killed again and again while it joins a service, now and then with the OM that leads,
//! and is started without `--bootstrap` as soon as it has noted that it joins.

use std::time::Duration;

use crate::script::prelude::*;
use crate::world::world;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/om-killed-while-joining",
    about: "a fourth OM is killed seven times while it joins, now and then with the leader",
    run,
};

/// Every third kill is of the OM that leads, too.
const KILLS: u64 = 7;

/// Maximum time from the start to a kill, in milliseconds.
const LONGEST: u64 = 4_000;

fn run() -> Result<()> {
    let mut random = world().random.split();
    // The log does not reach back to its beginning: an OM that joins gets a snapshot.
    let few = ("ozone.om.ratis.snapshot.auto.trigger.threshold", "20");
    let mut c = cluster(1, 3, 3).with(few.0, few.1).start()?;
    let writers = c.write(2);
    c.expect("the log is trimmed", minutes(5), |_| writers.reached(60))?;
    c.join(Om(3))?;
    let note = c.home(Om(3))?.join("om/current/JOIN");
    let mut noted = false;
    for kill in 1..=KILLS {
        let longest = if kill == 1 { 60_000 } else { random.below(LONGEST) };
        for _ in 0..longest {
            c.advance(Duration::from_millis(1))?;
            noted |= note.exists();
            if kill == 1 && noted {
                break;
            }
        }
        let leader = (kill % 3 == 0).then(|| c.om_leader().ok()).flatten();
        let leader = leader.filter(|om| *om != Om(3));
        c.kill(leader.into_iter().chain([Om(3)]))?;
        c.bootstrap(Om(3), !noted)?;
        c.start(leader.into_iter().chain([Om(3)]))?;
    }
    ensure!(noted, "it never noted that it joins");
    c.expect("it votes", minutes(3), |c| {
        let voters = c.om_voters()?;
        ensure!(voters == [Om(0), Om(1), Om(2), Om(3)], "{voters:?} vote");
        Ok(())
    })?;
    c.expect("it has all", minutes(2), |c| c.om_is_even(Om(3)))?;
    ensure!(!note.exists(), "the note is left");

    // The fourth counts: with another one down three of four continue.
    c.kill([Om(0)])?;
    let before = writers.keys().len();
    c.expect("clients go on", minutes(2), |_| writers.reached(before + 10))?;
    writers.end_well(&mut c)?;
    c.read(&writers.keys())
}
