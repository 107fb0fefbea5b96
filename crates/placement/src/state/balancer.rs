//! The requested state of the container balancer, as SCM stores it.

use std::collections::BTreeSet;

use proto::hdds::ContainerBalancerConfigurationProto;
use types::ContainerId;

use super::nodes::Nodes;
use crate::time::Millis;

/// Minimum of a move's time left after its copy, for the deletion.
const LEAST_FOR_DELETION: Millis = 9 * 60_000;

/// Configuration of the balancer: the keys `hdds.container.balancer.*`, and options of its start.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// Maximum difference of a node's utilisation from the cluster's, in per cent of its capacity.
    pub threshold: f64,
    /// Nodes that may send or get replicas in one iteration, in per cent of those in service.
    pub max_datanodes_percentage: u32,
    /// Bytes moved in one iteration.
    pub max_size_per_iteration: u64,
    /// Bytes that one node may get in one iteration.
    pub max_size_entering_target: u64,
    /// Bytes that one node may send in one iteration.
    pub max_size_leaving_source: u64,
    /// Iterations until it stops; `None` is without an end.
    pub iterations: Option<u32>,
    /// Containers that are not moved.
    pub exclude_containers: BTreeSet<ContainerId>,
    /// If there are any, the only ones that are moved.
    pub include_containers: BTreeSet<ContainerId>,
    /// Time limit of a move.
    pub move_timeout: Millis,
    /// Time limit of its copy.
    pub replication_timeout: Millis,
    /// Time from the end of one iteration to the next.
    pub interval: Millis,
    /// Host names or addresses; if there are any, only these nodes are balanced.
    pub include_nodes: BTreeSet<String>,
    /// Host names or addresses of nodes that are not balanced.
    pub exclude_nodes: BTreeSet<String>,
    /// True if a target near the source is preferred to an emptier one.
    pub network_topology: bool,
    /// True if nodes are asked for their usage before an iteration. Kept for clients: the usage in
    /// each heartbeat is always current.
    pub trigger_du: bool,
    /// True if QUASI_CLOSED containers are moved, too.
    pub include_non_standard: bool,
}

/// The balancer's replicated state.
#[derive(Debug, Clone, PartialEq)]
pub struct Balancer {
    /// Its configuration.
    pub configuration: Configuration,
    /// True if it runs, or will on the next leader.
    pub should_run: bool,
    /// The iteration that is next.
    pub next_iteration: u32,
}

/// Reason for which a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// No container fits.
    #[error("{0} should be greater than ozone.scm.container.size")]
    SmallerThanContainer(&'static str),
    /// A move would end before its copy.
    #[error(
        "hdds.container.balancer.move.replication.timeout should be less than \
         hdds.container.balancer.move.timeout."
    )]
    ReplicationTimeout,
    /// No time is left to delete.
    #[error(
        "(hdds.container.balancer.move.timeout ({move_timeout}ms) - \
         hdds.container.balancer.move.replication.timeout ({replication_timeout}ms) - \
         hdds.scm.replication.event.timeout.datanode.offset ({offset}ms)) should be greater than \
         or equal to {LEAST_FOR_DELETION}ms or 9 minutes."
    )]
    DeletionTime {
        /// Milliseconds for a move.
        move_timeout: Millis,
        /// Milliseconds for its copy.
        replication_timeout: Millis,
        /// Milliseconds that DataNodes have less.
        offset: Millis,
    },
    /// A list names an unknown node.
    #[error(
        "Invalid configuration: The {list} datanode '{name}' does not exist or is not registered \
         with SCM. Please check the hostname/IP."
    )]
    UnknownNode {
        /// `included` or `excluded`.
        list: &'static str,
        /// The value.
        name: String,
    },
    /// A list of containers has something else in it.
    #[error("'{0}' is not the id of a container")]
    ContainerId(String),
    /// An invalid number.
    #[error("'{0}' is not a threshold in the range [0.0, 100.0)")]
    Threshold(String),
}

impl Configuration {
    /// Refuses limits with which nothing could move, and unknown nodes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(
        &self,
        nodes: &Nodes,
        container_size: u64,
        deadline_offset: Millis,
    ) -> Result<(), ConfigurationError> {
        for (key, size) in [
            ("hdds.container.balancer.size.entering.target.max", self.max_size_entering_target),
            ("hdds.container.balancer.size.leaving.source.max", self.max_size_leaving_source),
        ] {
            if size <= container_size {
                return Err(ConfigurationError::SmallerThanContainer(key));
            }
        }
        let (move_timeout, replication_timeout) = (self.move_timeout, self.replication_timeout);
        if replication_timeout >= move_timeout {
            return Err(ConfigurationError::ReplicationTimeout);
        }
        let left = move_timeout.saturating_sub(replication_timeout);
        if left.saturating_sub(deadline_offset) < LEAST_FOR_DELETION {
            let offset = deadline_offset;
            return Err(ConfigurationError::DeletionTime {
                move_timeout,
                replication_timeout,
                offset,
            });
        }
        let known =
            |name: &String| nodes.iter().any(|n| *name == n.details.host || *name == n.details.ip);
        for (list, names) in [("included", &self.include_nodes), ("excluded", &self.exclude_nodes)]
        {
            if let Some(name) = names.iter().find(|name| !known(name)) {
                return Err(ConfigurationError::UnknownNode { list, name: name.clone() });
            }
        }
        Ok(())
    }
}

/// The parts of a list with commas.
pub fn names(list: &str) -> BTreeSet<String> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The ids of a list with commas.
///
/// # Errors
/// When a part is no id.
pub fn container_ids(list: &str) -> Result<BTreeSet<ContainerId>, ConfigurationError> {
    let id = |part: String| {
        let id = part.parse::<u64>().ok().filter(|id| *id > 0);
        id.map(ContainerId).ok_or(ConfigurationError::ContainerId(part))
    };
    names(list).into_iter().map(id).collect()
}

fn joined<T: ToString>(parts: &BTreeSet<T>) -> Option<String> {
    let parts: Vec<String> = parts.iter().map(T::to_string).collect();
    Some(parts.join(","))
}

impl Balancer {
    /// As Ozone keeps it in the table `statefulServiceConfig`.
    pub fn to_wire(&self) -> ContainerBalancerConfigurationProto {
        let c = &self.configuration;
        let signed = |n: u64| Some(i64::try_from(n).unwrap_or(i64::MAX));
        let small = |n: u32| Some(i32::try_from(n).unwrap_or(i32::MAX));
        ContainerBalancerConfigurationProto {
            utilization_threshold: Some(c.threshold.to_string()),
            datanodes_involved_max_percentage_per_iteration: small(c.max_datanodes_percentage),
            size_moved_max_per_iteration: signed(c.max_size_per_iteration),
            size_entering_target_max: signed(c.max_size_entering_target),
            size_leaving_source_max: signed(c.max_size_leaving_source),
            iterations: c.iterations.map_or(Some(-1), small),
            exclude_containers: joined(&c.exclude_containers),
            include_containers: joined(&c.include_containers),
            move_timeout: signed(c.move_timeout),
            move_replication_timeout: signed(c.replication_timeout),
            balancing_iteration_interval: signed(c.interval),
            include_datanodes: joined(&c.include_nodes),
            exclude_datanodes: joined(&c.exclude_nodes),
            move_network_topology_enable: Some(c.network_topology),
            trigger_du_before_move_enable: Some(c.trigger_du),
            include_non_standard_containers: Some(c.include_non_standard),
            should_run: self.should_run,
            next_iteration_index: small(self.next_iteration),
        }
    }

    /// From the bytes of the table or of the log; fields that are not there are 0 or empty.
    ///
    /// # Errors
    /// When a list or the threshold cannot be read.
    pub fn from_wire(
        wire: &ContainerBalancerConfigurationProto,
    ) -> Result<Self, ConfigurationError> {
        let size = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let small = |n: Option<i32>| n.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let text = |list: &Option<String>| list.clone().unwrap_or_default();
        let threshold = text(&wire.utilization_threshold);
        let parsed = threshold.parse::<f64>().ok().filter(|t| (0.0..100.0).contains(t));
        let configuration = Configuration {
            threshold: parsed.ok_or(ConfigurationError::Threshold(threshold))?,
            max_datanodes_percentage: small(wire.datanodes_involved_max_percentage_per_iteration)
                .min(100),
            max_size_per_iteration: size(wire.size_moved_max_per_iteration),
            max_size_entering_target: size(wire.size_entering_target_max),
            max_size_leaving_source: size(wire.size_leaving_source_max),
            iterations: wire.iterations.and_then(|n| u32::try_from(n).ok()),
            exclude_containers: container_ids(&text(&wire.exclude_containers))?,
            include_containers: container_ids(&text(&wire.include_containers))?,
            move_timeout: size(wire.move_timeout),
            replication_timeout: size(wire.move_replication_timeout),
            interval: size(wire.balancing_iteration_interval),
            include_nodes: names(&text(&wire.include_datanodes)),
            exclude_nodes: names(&text(&wire.exclude_datanodes)),
            network_topology: wire.move_network_topology_enable.unwrap_or(false),
            trigger_du: wire.trigger_du_before_move_enable.unwrap_or(false),
            include_non_standard: wire.include_non_standard_containers.unwrap_or(false),
        };
        let next_iteration = small(wire.next_iteration_index);
        Ok(Self { configuration, should_run: wire.should_run, next_iteration })
    }
}
