//! The container balancer over the life of SCMs.

use proto::container_location::{StartContainerBalancerRequestProto, Type};
use proto::hdds::ContainerBalancerConfigurationProto;
use testkit::until;

use crate::harness::Harness;

/// What the balancer goes by; nothing while it does not run.
async fn running(h: &Harness) -> Option<ContainerBalancerConfigurationProto> {
    let fill = |r: &mut proto::container_location::ScmContainerLocationRequest| {
        r.container_balancer_status_info_request = Some(Default::default());
    };
    let response = h.location(Type::GetContainerBalancerStatusInfo, fill).await;
    let status = response.container_balancer_status_info_response?;
    status.container_balancer_status_info?.configuration
}

/// The leader's term ends in the middle of an iteration: the next one, which reads what was
/// replicated, goes on with what the balancer was told, and does not begin one that was stopped.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_leader_goes_on_with_what_the_balancer_was_told() {
    let h = Harness::start_with(|conf| {
        // No move is decided before all replicas are known, so no iteration comes to its end.
        conf.with("hdds.scm.wait.time.after.safemode.exit", "1h")
    })
    .await;
    let nodes = h.datanodes(3).await;
    let body = StartContainerBalancerRequestProto {
        threshold: Some(7.0),
        iterations: Some(3),
        exclude_containers: Some("11,12".to_owned()),
        ..Default::default()
    };
    let fill = |r: &mut proto::container_location::ScmContainerLocationRequest| {
        r.start_container_balancer_request = Some(body);
    };
    let started = h.location(Type::StartContainerBalancer, fill).await;
    assert!(started.start_container_balancer_response.unwrap().start);
    let before = running(&h).await.unwrap();
    assert_eq!((before.iterations, before.exclude_containers()), (Some(3), "11,12"));

    let h = h.crash().await;
    drop(nodes);
    until("it leads", async || h.scm.leads()).await;
    let after = running(&h).await.expect("the next leader runs the balancer");
    assert_eq!(after, before);

    h.location(Type::StopContainerBalancer, |_| ()).await;
    assert_eq!(running(&h).await, None);
    let h = h.crash().await;
    until("it leads", async || h.scm.leads()).await;
    assert_eq!(running(&h).await, None);
    h.scm.shutdown().await;
}
