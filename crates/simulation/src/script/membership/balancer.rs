//! A DataNode that joined later gets its share of the containers; it and another one are killed
//! meanwhile.

use proto::container_location::StartContainerBalancerRequestProto;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "membership/balancer",
    about: "containers move to a new DataNode while nodes are killed: none has a replica fewer",
    run,
};

/// Bytes of a DataNode's disk.
const DISK: u64 = 128 << 20;
/// Maximum difference of a DataNode's usage from the average in the end, in hundredths of its disk.
const THRESHOLD: f64 = 1.5;

/// Usage of each DataNode, in hundredths.
fn fill(c: &mut Cluster) -> Result<Vec<f64>> {
    let usage = c.ask(|it| async move { it.scm.usage(true, 100).await })??;
    let percent = |info: &proto::hdds::DatanodeUsageInfoProto| {
        (info.capacity() - info.remaining()) as f64 * 100.0 / info.capacity() as f64
    };
    Ok(usage.iter().map(percent).collect())
}

/// Checks that each DataNode's usage is close to the average.
fn are_even(c: &mut Cluster) -> Result<()> {
    let fill = fill(c)?;
    let average = fill.iter().sum::<f64>() / fill.len() as f64;
    let is_near = |percent: &f64| (percent - average).abs() <= THRESHOLD;
    ensure!(fill.iter().all(is_near), "DataNodes are full to {fill:.2?} of a hundred");
    Ok(())
}

fn start(c: &mut Cluster) -> Result<()> {
    let start = StartContainerBalancerRequestProto {
        threshold: Some(THRESHOLD),
        max_datanodes_percentage_to_involve_per_iteration: Some(100),
        iterations: Some(-1),
        ..StartContainerBalancerRequestProto::default()
    };
    let status = c.ask(|it| async move { it.scm.container_balancer_status().await })??;
    if !status.is_running() {
        let started = c.ask(|it| async move { it.scm.start_container_balancer(start).await })??;
        ensure!(started.start, "{started:?}");
    }
    Ok(())
}

fn run() -> Result<()> {
    let setup = cluster(1, 1, 4).disks(DISK);
    // Containers that are a small part of a disk, and take moments to be copied.
    let setup = setup.with("ozone.scm.container.size", "1MB").with("ozone.scm.block.size", "512KB");
    let setup = setup.with("hdds.datanode.volume.min.free.space", "1MB");
    let setup = setup.with("trioxide.datanode.replication.bandwidth", "200KB");
    let target = Datanode(3);
    let mut c = setup.start_without(&[target])?;
    let mut keys = Vec::new();
    for number in 0..32 {
        keys.push(c.put(&format!("key-{number}"), 400_000)?);
    }
    c.close_containers()?;
    c.expect("three replicas of each block", minutes(5), |c| c.settled())?;
    let containers = c.containers(&keys)?;
    c.start([target])?;
    c.expect("SCM has it", minutes(2), |c| {
        let count = c.nodes()?.len();
        ensure!(count == 4, "{count} nodes");
        Ok(())
    })?;
    ensure!(are_even(&mut c).is_err(), "there is nothing to move");

    start(&mut c)?;
    c.expect("a copy is under way", minutes(5), |c| {
        let parts = c.arriving(target)?;
        ensure!(!parts.is_disjoint(&containers), "{target} has parts of {parts:?}");
        Ok(())
    })?;
    for node in [target, Datanode(0)] {
        c.kill([node])?;
        c.start([node])?;
    }
    c.expect("DataNodes are even", minutes(600), |c| {
        start(c)?;
        are_even(c)
    })?;
    c.expect("every container is on three disks", minutes(90), |c| {
        c.settled()?;
        c.are_on_disks(&containers, 3)
    })?;
    c.holds(target, &containers)?;
    c.whole(&keys)?;
    c.read(&keys)
}
