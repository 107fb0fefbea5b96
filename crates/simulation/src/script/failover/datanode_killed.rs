//! A DataNode is killed while clients write through it.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/datanode-killed",
    about: "one of four DataNodes is killed while clients write: none of them sees it",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 4).start()?;
    let writers = c.write(4);
    c.expect("clients write", minutes(1), |_| writers.reached(20))?;
    c.kill([Datanode(1)])?;
    let before = writers.keys().len();
    c.expect("clients go on", minutes(3), |_| writers.reached(before + 60))?;
    writers.end_well(&mut c)?;
    c.read(&writers.keys())
}
