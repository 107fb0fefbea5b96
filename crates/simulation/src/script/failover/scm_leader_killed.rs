//! The SCM that leads is lost, one after the other.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/scm-leader-killed",
    about: "the SCM that leads is killed while clients write: they go on with another",
    run,
};

fn run() -> Result<()> {
    // Blocks are soon asked of SCM again.
    let mut c = cluster(3, 1, 4).with("trioxide.om.block.pool.size", "4").start()?;
    let writers = c.write(3);
    for _ in 0..3 {
        let leader = c.expect("an SCM leads", minutes(1), |c| c.scm_leader())?;
        let before = writers.keys().len();
        c.expect("clients write", minutes(1), |_| writers.reached(before + 20))?;
        c.power_off([leader])?;
        let before = writers.keys().len();
        c.expect("clients write without it", minutes(1), |_| writers.reached(before + 20))?;
        c.expect("another one leads", seconds(30), |c| {
            ensure!(c.scm_leader()? != leader, "{leader} has no power");
            Ok(())
        })?;
        c.start([leader])?;
        c.advance(seconds(10))?;
    }
    writers.end_well(&mut c)?;
    c.read(&writers.keys())
}
