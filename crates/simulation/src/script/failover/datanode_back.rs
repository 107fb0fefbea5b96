//! A DataNode comes back after its containers were closed without it.

use proto::hdds::LifeCycleState;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/datanode-back",
    about: "a DataNode that comes back closes what was closed without it, and leaves its old pipelines",
    run,
};

fn run() -> Result<()> {
    let mut c = cluster(1, 1, 3).start()?;
    let keys = [c.put("small", 3_000)?, c.put("large", 300_000)?];
    let containers = c.containers(&keys)?;
    let victim = Datanode(1);
    // Two of three replicas are enough for an acknowledgment; the third may follow.
    c.expect("its replicas are open", minutes(1), |c| {
        for id in &containers {
            let there = c.replicas(*id)?;
            let open = there.iter().any(|replica| replica.on == victim && replica.state == "OPEN");
            ensure!(open, "container {id} on {victim}: {there:?}");
        }
        Ok(())
    })?;
    c.kill([victim])?;
    c.expect("its containers are closed without it", minutes(5), |c| {
        let all = c.all_containers()?;
        let left = all.iter().filter(|container| containers.contains(&container.id));
        let left: Vec<_> =
            left.filter(|container| container.state != LifeCycleState::Closed).collect();
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })?;
    c.expect("no pipeline of three is open", minutes(5), |c| {
        let pipelines = c.open_pipelines()?;
        ensure!(pipelines.iter().all(|members| members.len() == 1), "open are {pipelines:?}");
        Ok(())
    })?;

    c.start([victim])?;
    c.expect("its replicas are closed, too", minutes(5), |c| {
        for id in &containers {
            let there = c.replicas(*id)?;
            let closed = there.iter().filter(|replica| replica.state == "CLOSED").count();
            ensure!(there.len() == 3 && closed == 3, "container {id}: {there:?}");
        }
        c.whole(&keys)
    })?;
    c.expect("it runs the pipelines that it is a member of, and no other", minutes(5), |c| {
        let pipelines = c.open_pipelines()?;
        let with_it = pipelines.iter().filter(|members| members.contains(&victim)).count();
        let runs = c.metric(victim, "datanode_pipelines")?;
        ensure!(with_it > 0 && runs == with_it as f64, "it runs {runs}, open are {pipelines:?}");
        Ok(())
    })?;
    let third = c.put("third", 300_000)?;
    let on = c.written_to(std::slice::from_ref(&third))?;
    ensure!(on.contains(&victim), "{victim} is back, and keys are written to {on:?}");
    c.read(&[third])
}
