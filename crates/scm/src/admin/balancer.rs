//! The container balancer, which this release does not have: it never runs, and cannot be started.

use proto::container_location::*;

/// StartContainerBalancer.
pub fn start() -> StartContainerBalancerResponseProto {
    let message = "this release does not balance containers";
    StartContainerBalancerResponseProto { start: false, message: Some(message.to_owned()) }
}

/// StopContainerBalancer: nothing runs, as was asked for.
pub fn stop() -> StopContainerBalancerResponseProto {
    StopContainerBalancerResponseProto {}
}

/// GetContainerBalancerStatus.
pub fn status() -> ContainerBalancerStatusResponseProto {
    ContainerBalancerStatusResponseProto { is_running: false }
}

/// GetContainerBalancerStatusInfo.
pub fn status_info() -> ContainerBalancerStatusInfoResponseProto {
    ContainerBalancerStatusInfoResponseProto { is_running: Some(false), ..Default::default() }
}
