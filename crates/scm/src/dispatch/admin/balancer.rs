//! The container balancer's verbs.

use std::collections::BTreeMap;

use placement::balance::{Configuration, Statistics, container_ids, names};
use placement::{Balancer, Change};
use proto::container_location::*;
use types::DatanodeId;

use crate::core::Core;
use crate::error::RequestError;

/// StartContainerBalancer: with the configured limits, but for those that the request names.
pub async fn start(
    core: &Core,
    request: &StartContainerBalancerRequestProto,
) -> Result<StartContainerBalancerResponseProto, RequestError> {
    let configuration = asked(core, request)?;
    let refused = {
        let cluster = core.cluster();
        let replication = &cluster.settings.replication;
        let (size, offset) = (cluster.settings.container_size, replication.deadline_offset);
        if cluster.safe_mode.is_on() {
            Some("SCM is in safe mode".to_owned())
        } else if cluster.balancer.as_ref().is_some_and(|b| b.should_run) {
            Some("Expect ContainerBalancer as not running state, but running state is actually RUNNING".to_owned())
        } else {
            configuration.check(&cluster.nodes, size, offset).err().map(|e| e.to_string())
        }
    };
    if let Some(message) = refused {
        let message = Some(message);
        return Ok(StartContainerBalancerResponseProto { start: false, message });
    }
    let balancer = Balancer { configuration, should_run: true, next_iteration: 0 };
    // A run that ended is shown until the next one.
    core.balancing.lock().start(core.clock.now());
    core.propose_one(Change::SetBalancer(balancer)).await?;
    Ok(StartContainerBalancerResponseProto { start: true, message: None })
}

/// StopContainerBalancer: no more moves begin; those in flight are completed.
pub async fn stop(core: &Core) -> Result<StopContainerBalancerResponseProto, RequestError> {
    let balancer = core.cluster().balancer.clone().filter(|b| b.should_run);
    if let Some(balancer) = balancer {
        let stopped = Balancer { should_run: false, ..balancer };
        core.propose_one(Change::SetBalancer(stopped)).await?;
        core.balancing.lock().stop(core.clock.now());
    }
    Ok(StopContainerBalancerResponseProto {})
}

fn is_running(core: &Core) -> bool {
    core.cluster().balancer.as_ref().is_some_and(|b| b.should_run)
}

/// GetContainerBalancerStatus.
pub fn status(core: &Core) -> ContainerBalancerStatusResponseProto {
    ContainerBalancerStatusResponseProto { is_running: is_running(core) }
}

/// GetContainerBalancerStatusInfo: the iterations of this run, the current one last.
pub fn status_info(core: &Core) -> ContainerBalancerStatusInfoResponseProto {
    let balancing = core.balancing.lock();
    let cluster = core.cluster();
    let Some(balancer) = cluster.balancer.as_ref().filter(|b| b.should_run) else {
        return ContainerBalancerStatusInfoResponseProto {
            is_running: Some(false),
            ..Default::default()
        };
    };
    let now = core.clock.now();
    let mut iterations: Vec<_> = balancing
        .history
        .iter()
        .map(|e| shown(e.number, e.result.as_str(), &e.statistics, e.took))
        .collect();
    if let Some(current) = &balancing.current {
        let took = now.saturating_sub(current.began);
        iterations.push(shown(current.number, "", current.iteration.statistics(), took));
    }
    let info = ContainerBalancerStatusInfoProto {
        // In seconds.
        started_at: Some(balancing.started.unwrap_or(now) / 1_000),
        configuration: Some(balancer.to_wire()),
        iterations_status_info: iterations,
    };
    ContainerBalancerStatusInfoResponseProto {
        is_running: Some(true),
        container_balancer_status_info: Some(info),
    }
}

fn shown(
    number: u32,
    result: &str,
    s: &Statistics,
    took_ms: u64,
) -> ContainerBalancerTaskIterationStatusInfoProto {
    let signed = |n: u64| Some(i64::try_from(n).unwrap_or(i64::MAX));
    let by_node = |bytes: &BTreeMap<DatanodeId, u64>| {
        let one = |(node, bytes): (&DatanodeId, &u64)| NodeTransferInfoProto {
            uuid: Some(node.to_string()),
            data_volume: signed(*bytes),
        };
        bytes.iter().map(one).collect()
    };
    ContainerBalancerTaskIterationStatusInfoProto {
        iteration_number: Some(i32::try_from(number).unwrap_or(i32::MAX)),
        iteration_result: Some(result.to_owned()),
        size_scheduled_for_move: signed(s.scheduled_bytes),
        data_size_moved: signed(s.moved_bytes),
        container_moves_scheduled: signed(s.scheduled),
        container_moves_completed: signed(s.completed),
        container_moves_failed: signed(s.failed),
        container_moves_timeout: signed(s.timed_out),
        size_entering_nodes: by_node(&s.entered),
        size_leaving_nodes: by_node(&s.left),
        iteration_duration: signed(took_ms / 1_000),
    }
}

/// The configured limits, with those of the request in their place.
fn asked(
    core: &Core,
    request: &StartContainerBalancerRequestProto,
) -> Result<Configuration, RequestError> {
    let mut c = core.options.balancer.clone();
    if let Some(threshold) = request.threshold {
        if !(0.0..100.0).contains(&threshold) {
            return invalid("Threshold should be specified in the range [0.0, 100.0).");
        }
        c.threshold = threshold;
    }
    if let Some(percentage) = request.max_datanodes_percentage_to_involve_per_iteration {
        let fits = u32::try_from(percentage).ok().filter(|p| *p <= 100);
        let refused = "Max Datanodes Percentage To Involve Per Iteration must be lesser than equal \
                       to hundred.";
        c.max_datanodes_percentage = fits.ok_or(RequestError::Invalid(refused.into()))?;
    }
    match request.iterations {
        Some(-1) => c.iterations = None,
        Some(n) if n > 0 => c.iterations = u32::try_from(n).ok(),
        Some(_) => {
            return invalid(
                "Number of Iterations must be positive or -1 (for running container balancer infinitely).",
            );
        }
        None => {}
    }
    for (asked, set, refusal) in [
        (
            request.max_size_to_move_per_iteration_in_gb,
            &mut c.max_size_per_iteration,
            "Max Size To Move Per Iteration In GB must be positive.",
        ),
        (
            request.max_size_entering_target_in_gb,
            &mut c.max_size_entering_target,
            "Max Size Entering Target must be greater than zero.",
        ),
        (
            request.max_size_leaving_source_in_gb,
            &mut c.max_size_leaving_source,
            "Max Size Leaving Source must be greater than zero.",
        ),
    ] {
        if let Some(gb) = asked {
            let gb = u64::try_from(gb).ok().filter(|gb| *gb > 0);
            *set = gb.ok_or(RequestError::Invalid(refusal.into()))?.saturating_mul(1 << 30);
        }
    }
    for (asked, set, refusal) in [
        (
            request.balancing_interval,
            &mut c.interval,
            "Balancing Interval must be greater than zero.",
        ),
        (request.move_timeout, &mut c.move_timeout, "Move Timeout must be greater than zero."),
        (
            request.move_replication_timeout,
            &mut c.replication_timeout,
            "Move Replication Timeout must be greater than zero.",
        ),
    ] {
        if let Some(minutes) = asked {
            let minutes = u64::try_from(minutes).ok().filter(|minutes| *minutes > 0);
            *set = minutes.ok_or(RequestError::Invalid(refusal.into()))?.saturating_mul(60_000);
        }
    }
    if let Some(near) = request.network_topology_enable {
        c.network_topology = near;
    }
    let ids = |list: &str| container_ids(list).map_err(|e| RequestError::Invalid(e.to_string()));
    if let Some(list) = &request.exclude_containers {
        c.exclude_containers = ids(list)?;
    }
    if let Some(list) = &request.include_containers {
        c.include_containers = ids(list)?;
    }
    if let Some(list) = &request.include_nodes {
        c.include_nodes = names(list);
    }
    if let Some(list) = &request.exclude_nodes {
        c.exclude_nodes = names(list);
    }
    Ok(c)
}

fn invalid<T>(message: &str) -> Result<T, RequestError> {
    Err(RequestError::Invalid(message.to_owned()))
}
