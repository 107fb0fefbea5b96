//! The SCM that leads is killed while the container balancer runs, and after it was stopped.

use proto::container_location::StartContainerBalancerRequestProto;
use proto::hdds::ContainerBalancerConfigurationProto;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/balancer-goes-on",
    about: "the next SCM that leads goes on with the balancer, and not once it was stopped",
    run,
};

/// Configuration of the balancer; `None` while it does not run.
fn running(c: &mut Cluster) -> Result<Option<ContainerBalancerConfigurationProto>> {
    let status = c.ask(|it| async move { it.scm.container_balancer_status().await })??;
    Ok(status.container_balancer_status_info.and_then(|info| info.configuration))
}

/// Kills the leading SCM, waits for the next leader, and restarts the killed one.
fn another_leads(c: &mut Cluster) -> Result<()> {
    let leader = c.expect("an SCM leads", minutes(1), |c| c.scm_leader())?;
    c.kill([leader])?;
    c.expect("another one leads", seconds(30), |c| {
        ensure!(c.scm_leader()? != leader, "{leader} is killed");
        Ok(())
    })?;
    c.start([leader])
}

fn run() -> Result<()> {
    // No move is decided before all replicas are known, so no iteration ends.
    let setup = cluster(3, 1, 3).with("hdds.scm.wait.time.after.safemode.exit", "1h");
    let mut c = setup.start()?;
    let start = StartContainerBalancerRequestProto {
        threshold: Some(7.0),
        iterations: Some(3),
        exclude_containers: Some("11,12".to_owned()),
        ..StartContainerBalancerRequestProto::default()
    };
    let started = c.ask(|it| async move { it.scm.start_container_balancer(start).await })??;
    ensure!(started.start, "{started:?}");
    let before = running(&mut c)?.context("it does not run")?;
    let (iterations, excluded) = (before.iterations, before.exclude_containers());
    ensure!(iterations == Some(3) && excluded == "11,12", "{before:?}");

    another_leads(&mut c)?;
    let after = c.expect("the next leader runs it", seconds(30), |c| {
        running(c)?.context("it does not run")
    })?;
    ensure!(after == before, "{after:?}, it was {before:?}");

    c.ask(|it| async move { it.scm.stop_container_balancer().await })??;
    another_leads(&mut c)?;
    c.expect_always("it does not run", minutes(1), |c| {
        let runs = running(c)?;
        ensure!(runs.is_none(), "{runs:?}");
        Ok(())
    })
}
