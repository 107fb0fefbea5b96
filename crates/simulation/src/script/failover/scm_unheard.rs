//! No DataNode reaches SCM: leaders close the containers of their pipelines by themselves.

use proto::datanode::container_data_proto::State;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/scm-unheard",
    about: "no DataNode reaches SCM for two minutes: leaders close containers, and not too soon",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 3).start()?;
    let keys = [c.put("one", 3_000)?, c.put("two", 300_000)?, c.put("three", 1 << 20)?];
    let containers = c.containers(&keys)?;
    let nodes = [Datanode(0), Datanode(1), Datanode(2)];
    let are = |c: &mut Cluster, wanted: State| {
        for (node, id) in nodes.iter().flat_map(|node| containers.iter().map(move |id| (node, id)))
        {
            let state = c.state_on(*node, *id)?;
            ensure!(state == wanted, "{id} on {node} is {state:?}");
        }
        Ok(())
    };
    c.expect("they are open on each", minutes(1), |c| are(c, State::Open))?;
    c.cut(&nodes, &[Scm(0)])?;
    // SCM closes the pipelines meanwhile, but its commands reach no node.
    c.expect_always("they stay open", seconds(50), |c| are(c, State::Open))?;
    ensure!(c.pipelines()?.is_empty(), "SCM has not closed the pipelines");
    c.expect("they are closed on each", minutes(1), |c| are(c, State::Closed))?;
    c.whole(&keys)?;

    c.mend(&nodes, &[Scm(0)])?;
    c.expect("SCM has them closed", minutes(3), |c| c.settled())?;
    c.expect("keys can be written again", minutes(3), |c| c.put("after", 300_000))?;
    c.read(&keys)
}
