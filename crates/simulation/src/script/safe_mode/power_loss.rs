//! All machines lose power, and DataNodes come back one after the other.

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "safe-mode/power-loss",
    about: "after all lost power SCM waits in safe mode for DataNodes and a pipeline of three",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(3, 1, 3).start()?;
    let keys = [c.put("one", 1 << 20)?, c.put("two", 300_000)?];
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(2), |c| c.whole(&keys))?;
    let all = c.machines().servers().to_vec();
    c.power_off(all)?;

    c.start([Scm(0), Scm(1), Scm(2), Om(0)])?;
    c.expect("an SCM leads", minutes(1), |c| c.scm_leader())?;
    c.expect_always("no DataNode is there: it is in safe mode", minutes(10), |c| {
        ensure!(c.safe_mode()?.is_some_and(|open| !open.is_empty()), "it is not");
        Ok(())
    })?;
    c.start([Datanode(0)])?;
    let lacks_pipeline = |c: &mut Cluster| {
        let open = c.safe_mode()?.context("it is not")?;
        let is_open = |name: &str| open.iter().any(|rule| rule.starts_with(name));
        ensure!(is_open("HealthyPipeline") && !is_open("DataNode"), "{open:?}");
        Ok(())
    };
    c.expect("the DataNode counts", seconds(10), lacks_pipeline)?;
    c.expect_always("there is no pipeline of three", minutes(3), lacks_pipeline)?;
    c.read(&keys)?;
    c.start([Datanode(1), Datanode(2)])?;
    c.expect("SCM leaves safe mode", minutes(1), |c| {
        let open = c.safe_mode()?;
        ensure!(open.is_none(), "{open:?}");
        Ok(())
    })?;
    c.expect("three replicas of each block", minutes(5), |c| c.whole(&keys))?;
    let third = c.put("three", 300_000)?;
    c.read(&[third])
}
