//! A DataNode is decommissioned.

use proto::hdds::NodeOperationalState::Decommissioned;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/decommission",
    about: "a DataNode leaves once all its replicas are copied, and not before",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 5).start()?;
    let keys = [c.put("one", 1 << 20)?, c.put("two", 300_000)?, c.put("three", 3_000)?];
    let container = c.containers(&keys[..1])?.into_iter().next().unwrap_or_default();
    c.close_containers()?;
    let leaving = c.replicas(container)?[0].on;
    let containers = c.containers(&keys)?;
    c.holds(leaving, &containers)?;
    let host = c.machines().address(leaving)?;
    let refused = c.ask(|it| async move { it.scm.decommission(&[host], false, None).await })??;
    ensure!(refused.is_empty(), "{refused:?}");
    c.expect("it is decommissioned", minutes(15), |c| c.node_has(leaving, Decommissioned))?;
    // At this very moment nothing may depend on it.
    c.kill([leaving])?;
    c.whole(&keys)?;
    c.read(&keys)
}
