//! The OM that leads is killed again and again while clients write.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/om-leader-killed",
    about: "the OM that leads is killed while clients write: every acknowledged key is there",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 3, 3).start()?;
    let writers = c.write(4);
    for round in 1..=4 {
        let before = writers.keys().len();
        c.expect("clients write", minutes(1), |_| writers.reached(before + 10))?;
        let leader = c.om_leader()?;
        c.kill([leader])?;
        c.expect("another OM leads", seconds(30), |c| {
            let next = c.om_leader()?;
            ensure!(next != leader, "{leader} is killed");
            Ok(())
        })?;
        let before = writers.keys().len();
        let what = format!("clients go on to write in round {round}");
        c.expect(&what, minutes(1), |_| writers.reached(before + 10))?;
        c.start([leader])?;
        c.expect("the former leader has all", minutes(2), |c| c.om_is_even(leader))?;
    }
    writers.end_well(&mut c)?;
    c.read(&writers.keys())
}
