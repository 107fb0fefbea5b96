//! All members of a pipeline lose power at once, and start again at once.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/pipeline-without-power",
    about: "all DataNodes lose power while clients write: all have what was acknowledged",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 3).start()?;
    let writers = c.write(4);
    let nodes = [Datanode(0), Datanode(1), Datanode(2)];
    let pipelines = c.pipeline_ids()?;
    for _ in 0..3 {
        let before = writers.keys().len();
        c.expect("clients write", minutes(2), |_| writers.reached(before + 12))?;
        let newest = writers.keys().pop().context("there is no key")?;
        let pipeline = c.expect("a member leads", minutes(1), |c| c.written_through(&newest))?;
        ensure!(pipeline.members == nodes, "{pipeline:?}");
        c.power_off(nodes)?;
        let acknowledged = writers.keys();
        c.start(nodes)?;
        c.expect("each has all", minutes(1), |c| c.whole(&acknowledged))?;
    }
    writers.end_well(&mut c)?;
    // Else SCM had the replicas copied.
    ensure!(c.pipeline_ids()? == pipelines, "there are other pipelines than {pipelines:?}");
    let keys = writers.keys();
    c.expect("each has all", minutes(1), |c| c.whole(&keys))?;
    c.read(&keys)
}
