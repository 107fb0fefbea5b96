//! A DataNode is decommissioned to one other: no third one moves data.

use proto::hdds::NodeOperationalState::Decommissioned;
use proto::hdds::NodeState;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/decommission-to",
    about: "a DataNode leaves, and one that is named gets all it has: no third one moves data",
    run,
};

/// Containers and bytes that a DataNode sent and received as copies.
fn copied(c: &mut Cluster, node: Server) -> Result<[u64; 4]> {
    let mut figures = [0; 4];
    for (figure, what) in
        figures.iter_mut().zip(["sent", "sent_bytes", "received", "received_bytes"])
    {
        *figure = c.metric(node, &format!("datanode_copies_{what}_total"))? as u64;
    }
    Ok(figures)
}

fn run() -> Result<()> {
    let (leaving, to, third) = (Datanode(0), Datanode(3), Datanode(4));
    let mut c = cluster(1, 1, 5).start_without(&[to, third])?;
    let mut keys = Vec::new();
    for (number, length) in [3_000, 300_000, 1 << 20, 2 << 20].into_iter().enumerate() {
        keys.push(c.put(&format!("key-{number}"), length)?);
        // The next one is in another container.
        c.close_containers()?;
    }
    let containers = c.containers(&keys)?;
    for node in [to, third] {
        c.start([node])?;
        c.expect("it is there", minutes(2), |c| c.node_is(node, NodeState::Healthy))?;
    }
    let all = c.on_disk(leaving)?;
    ensure!(all.is_superset(&containers), "{leaving} has {all:?}, and not all of {containers:?}");

    let host = c.machines().address(leaving)?;
    let order = |c: &mut Cluster, to: Server| {
        let (host, to) = (host.clone(), c.machines().address(to)?);
        let work = async move |it: Clients| it.scm.decommission(&[host], false, Some(&to)).await;
        anyhow::Ok(c.ask(work)??)
    };
    let refused = order(&mut c, leaving)?;
    let is_refused = refused.iter().any(|of| of.error.contains("leaves, and cannot be"));
    ensure!(is_refused, "{refused:?}");
    let refused = order(&mut c, to)?;
    ensure!(refused.is_empty(), "{refused:?}");
    c.expect("it is decommissioned", minutes(15), |c| c.node_has(leaving, Decommissioned))?;

    let sent = copied(&mut c, leaving)?;
    let (count, bytes) = (all.len() as u64, sent[1]);
    ensure!(bytes > 3 << 20 && sent == [count, bytes, 0, 0], "{leaving} had {count}: {sent:?}");
    let received = copied(&mut c, to)?;
    ensure!(received == [0, 0, count, bytes], "{to}: {received:?}, {leaving}: {sent:?}");
    for node in [Datanode(1), Datanode(2), third] {
        let moved = copied(&mut c, node)?;
        ensure!(moved == [0; 4], "{node}: {moved:?}");
    }
    // At this very moment nothing may depend on it.
    c.kill([leaving])?;
    c.whole(&keys)?;
    c.read(&keys)
}
