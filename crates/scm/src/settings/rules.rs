//! Settings of the rules of `placement`.

use std::time::Duration;

use config::keys::{datanode, hdds, scm};
use config::{Configuration, Key};
use placement::{
    DeletionSettings, EcSettings, ReplicationSettings, SafeModeSettings, Settings,
    UnknownContainer, balance,
};

use crate::ScmError;

/// Configuration of the container balancer, unless its start overrides it.
pub(super) fn balancer(conf: &Configuration) -> Result<balance::Configuration, ScmError> {
    let ms = |key: &'static Key<Duration>| conf.get(key).as_millis() as u64;
    let refused = |key: &'static str, reason: &'static str| ScmError::Setting { key, reason };
    let ids = |key: &'static Key<String>| {
        balance::container_ids(&conf.get(key))
            .map_err(|_| refused(key.name(), "it is no list of container ids"))
    };
    let threshold = conf.get(&scm::HDDS_CONTAINER_BALANCER_UTILIZATION_THRESHOLD);
    if !(0.0..100.0).contains(&threshold) {
        let key = scm::HDDS_CONTAINER_BALANCER_UTILIZATION_THRESHOLD.name();
        return Err(refused(key, "it is not in the range [0, 100)"));
    }
    let percentage = conf.get(&scm::HDDS_CONTAINER_BALANCER_DATANODES_INVOLVED_MAX_PERCENTAGE);
    if percentage > 100 {
        let key = scm::HDDS_CONTAINER_BALANCER_DATANODES_INVOLVED_MAX_PERCENTAGE.name();
        return Err(refused(key, "it is no percentage up to 100"));
    }
    let iterations = conf.get(&scm::HDDS_CONTAINER_BALANCER_ITERATIONS);
    if iterations == 0 || iterations < -1 {
        let key = scm::HDDS_CONTAINER_BALANCER_ITERATIONS.name();
        return Err(refused(key, "it is neither positive nor -1"));
    }
    Ok(balance::Configuration {
        threshold,
        max_datanodes_percentage: percentage,
        max_size_per_iteration: conf.get(&scm::HDDS_CONTAINER_BALANCER_SIZE_MOVED_MAX).bytes(),
        max_size_entering_target: conf
            .get(&scm::HDDS_CONTAINER_BALANCER_SIZE_ENTERING_TARGET_MAX)
            .bytes(),
        max_size_leaving_source: conf
            .get(&scm::HDDS_CONTAINER_BALANCER_SIZE_LEAVING_SOURCE_MAX)
            .bytes(),
        iterations: u32::try_from(iterations).ok(),
        exclude_containers: ids(&scm::HDDS_CONTAINER_BALANCER_EXCLUDE_CONTAINERS)?,
        include_containers: ids(&scm::HDDS_CONTAINER_BALANCER_INCLUDE_CONTAINERS)?,
        move_timeout: ms(&scm::HDDS_CONTAINER_BALANCER_MOVE_TIMEOUT),
        replication_timeout: ms(&scm::HDDS_CONTAINER_BALANCER_MOVE_REPLICATION_TIMEOUT),
        interval: ms(&scm::HDDS_CONTAINER_BALANCER_BALANCING_ITERATION_INTERVAL),
        include_nodes: balance::names(&conf.get(&scm::HDDS_CONTAINER_BALANCER_INCLUDE_DATANODES)),
        exclude_nodes: balance::names(&conf.get(&scm::HDDS_CONTAINER_BALANCER_EXCLUDE_DATANODES)),
        network_topology: conf.get(&scm::HDDS_CONTAINER_BALANCER_MOVE_NETWORK_TOPOLOGY_ENABLE),
        trigger_du: conf.get(&scm::HDDS_CONTAINER_BALANCER_TRIGGER_DU_BEFORE_MOVE_ENABLE),
        include_non_standard: conf
            .get(&scm::HDDS_CONTAINER_BALANCER_INCLUDE_NON_STANDARD_CONTAINERS),
    })
}

/// Settings of the other rules.
pub(super) fn settings(conf: &Configuration) -> Result<Settings, ScmError> {
    let ms = |d: Duration| d.as_millis() as u64;
    let heartbeat = ms(conf.get(&hdds::HDDS_HEARTBEAT_INTERVAL));
    let stale_after = ms(conf.get(&scm::OZONE_SCM_STALE_NODE_INTERVAL));
    // An order is carried by the next heartbeat; what shows no effect a few of them later is sent
    // again.
    let resend_after = (heartbeat * 5).clamp(1_000, 60_000);
    let order_timeout = conf.get(&scm::HDDS_SCM_REPLICATION_EVENT_TIMEOUT);
    let offset = &scm::HDDS_SCM_REPLICATION_EVENT_TIMEOUT_DATANODE_OFFSET;
    let deadline_offset = conf.get(offset).unwrap_or(order_timeout / 2);
    if deadline_offset >= order_timeout {
        let reason = "it must be less than hdds.scm.replication.event.timeout: DataNodes would be \
                      too late for every order";
        return Err(ScmError::Setting { key: offset.name(), reason });
    }
    Ok(Settings {
        stale_after,
        dead_after: ms(conf.get(&scm::OZONE_SCM_DEAD_NODE_INTERVAL)).max(stale_after),
        pipeline_limit: conf.get(&scm::OZONE_SCM_DATANODE_PIPELINE_LIMIT),
        pipelines_per_disk: conf.get(&scm::OZONE_SCM_PIPELINE_PER_METADATA_DISK),
        cluster_pipeline_limit: conf.get(&scm::OZONE_SCM_RATIS_PIPELINE_LIMIT),
        create_factor_one: conf.get(&scm::OZONE_SCM_PIPELINE_CREATION_AUTO_FACTOR_ONE),
        allocated_timeout: ms(conf.get(&scm::OZONE_SCM_PIPELINE_ALLOCATED_TIMEOUT)),
        destroy_timeout: ms(conf.get(&scm::OZONE_SCM_PIPELINE_DESTROY_TIMEOUT)),
        container_size: conf.get(&hdds::OZONE_SCM_CONTAINER_SIZE).bytes(),
        close_threshold: conf.get(&hdds::HDDS_CONTAINER_CLOSE_THRESHOLD).clamp(0.01, 1.0),
        containers_per_pipeline: conf.get(&scm::OZONE_SCM_PIPELINE_OWNER_CONTAINER_COUNT),
        ec: EcSettings {
            pipeline_minimum: conf.get(&scm::OZONE_SCM_EC_PIPELINE_MINIMUM),
            pipelines_per_disk: conf.get(&scm::OZONE_SCM_EC_PIPELINE_PER_VOLUME_FACTOR).max(0.0),
        },
        resend_after,
        unknown_container: match conf.get(&scm::HDDS_SCM_UNKNOWN_CONTAINER_ACTION).as_str() {
            "DELETE" => UnknownContainer::Delete,
            _ => UnknownContainer::Warn,
        },
        replication: ReplicationSettings {
            timeout: ms(order_timeout),
            deadline_offset: ms(deadline_offset),
            under_interval: ms(conf.get(&scm::HDDS_SCM_REPLICATION_UNDER_REPLICATED_INTERVAL)),
            over_interval: ms(conf.get(&scm::HDDS_SCM_REPLICATION_OVER_REPLICATED_INTERVAL)),
            copies_per_node: conf.get(&scm::HDDS_SCM_REPLICATION_DATANODE_REPLICATION_LIMIT),
            deletes_per_node: conf.get(&scm::HDDS_SCM_REPLICATION_DATANODE_DELETE_CONTAINER_LIMIT),
            out_of_service_factor: conf
                .get(&datanode::HDDS_DATANODE_REPLICATION_OUTOFSERVICE_LIMIT_FACTOR),
            in_flight_share: conf.get(&scm::HDDS_SCM_REPLICATION_INFLIGHT_LIMIT_FACTOR),
            point_to_point: conf.get(&scm::HDDS_SCM_DATANODE_DECOMMISSION_POINT_TO_POINT),
            storage_types: conf.get(&scm::HDDS_SCM_REPLICATION_STORAGE_TYPE_ENABLED),
            maintenance_minimum: conf.get(&scm::HDDS_SCM_REPLICATION_MAINTENANCE_REPLICA_MINIMUM),
            maintenance_redundancy: conf
                .get(&scm::HDDS_SCM_REPLICATION_MAINTENANCE_REMAINING_REDUNDANCY),
            reconstruction_weight: conf
                .get(&scm::HDDS_SCM_REPLICATION_DATANODE_RECONSTRUCTION_WEIGHT),
            rack_aware: conf.get(&scm::OZONE_SCM_CONTAINER_PLACEMENT_IMPL).contains("RackAware"),
            sample_limit: conf.get(&scm::HDDS_SCM_REPLICATION_CONTAINER_SAMPLE_LIMIT) as usize,
        },
        deletion: DeletionSettings {
            max_retries: conf.get(&scm::OZONE_SCM_BLOCK_DELETION_MAX_RETRY),
            resend_after: resend_after * 2,
            blocks_per_round: conf.get(&scm::HDDS_SCM_BLOCK_DELETION_PER_INTERVAL_MAX) as usize,
        },
        safe_mode: SafeModeSettings {
            enabled: conf.get(&scm::HDDS_SCM_SAFEMODE_ENABLED),
            min_datanodes: conf.get(&scm::HDDS_SCM_SAFEMODE_MIN_DATANODE),
            container_share: conf.get(&scm::HDDS_SCM_SAFEMODE_THRESHOLD_PCT),
            healthy_pipeline_share: conf.get(&scm::HDDS_SCM_SAFEMODE_HEALTHY_PIPELINE_PCT),
            reported_pipeline_share: conf
                .get(&scm::HDDS_SCM_SAFEMODE_ONE_NODE_REPORTED_PIPELINE_PCT),
        },
    })
}
