//! What SCM is started with, read from the configuration.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::keys::{datanode, hdds, scm, trioxide};
use config::{Configuration, DirPermissions, HostPort, Key, ScmNode};
use limits::ConnectionOptions;
use metastore::compaction::Limits;
use placement::{
    DeletionSettings, EcSettings, ReplicationSettings, SafeModeSettings, Settings,
    UnknownContainer, balance,
};
use service::{AdminPolicy, Share};
use topology::Racks;

use crate::ScmError;
use crate::members::Members;

/// Ids of containers and deletion transactions reserved at a time, at most. What is left of a batch
/// at a restart is skipped, and people read these.
pub const FEW_IDS: u64 = 1_000;

/// What SCM is started with.
#[derive(Debug, Clone)]
pub struct ScmOptions {
    /// Where the tables, the VERSION file and, unless said otherwise, the Raft log are.
    pub dir: PathBuf,
    /// Where the Raft log is.
    pub raft_dir: PathBuf,
    /// Permissions of both.
    pub permissions: DirPermissions,
    /// Endpoint for clients and administrators.
    pub client_address: HostPort,
    /// Endpoint for OM's block requests.
    pub block_address: HostPort,
    /// Endpoint for DataNodes.
    pub datanode_address: HostPort,
    /// Status page, if there is to be one.
    pub http_address: Option<HostPort>,
    /// What the rules depend on.
    pub settings: Settings,
    /// How the racks of hosts are found out.
    pub racks: Arc<Racks>,
    /// How often the age of heartbeats is looked at.
    pub watch_interval: Duration,
    /// How often missing pipelines are looked for, besides when something changed.
    pub pipeline_interval: Duration,
    /// How often pipelines on their way are looked at, besides when something changed.
    pub scrub_interval: Duration,
    /// How often containers on their way are looked at, besides when something changed.
    pub review_interval: Duration,
    /// How long after safe mode no replicas are copied or deleted: nodes may still come.
    pub repair_delay: Duration,
    /// How often nodes on their way out of service are looked at, besides when something changed.
    pub admin_interval: Duration,
    /// How often deletions are sent, besides when new ones came in.
    pub deletion_interval: Duration,
    /// How sending deletions makes way for clients.
    pub deletion_share: Share,
    /// Block ids reserved at a time; of other ids, at most [`FEW_IDS`].
    pub id_batch: u64,
    /// Most containers in one listing.
    pub list_limit: usize,
    /// Memory for cached blocks of the tables.
    pub cache_bytes: u64,
    /// Applied changes after which the tables are made durable and the Raft log is trimmed.
    pub trim_entries: u64,
    /// Which users administer this SCM.
    pub admin_policy: AdminPolicy,
    /// The other SCMs, if there are any.
    pub members: Option<Members>,
    /// Whether a service that runs already is to be joined.
    pub bootstrap: bool,
    /// Silence of a leader after which an election begins.
    pub election_timeout: Duration,
    /// How many connections each endpoint takes, and how long they may be silent.
    pub connections: ConnectionOptions,
    /// A request that takes as long is logged; zero for none.
    pub slow_request: Duration,
    /// How long a shutdown may take.
    pub shutdown_timeout: Duration,
    /// The configuration itself, for who looks at it.
    pub configuration: Configuration,
    /// How the container balancer works when it is started, but for what its start says.
    pub balancer: balance::Configuration,
    /// How ranges of the tables are compacted, if they are.
    pub range_compaction: Option<RangeCompactionOptions>,
}

/// How ranges of the tables are compacted.
#[derive(Debug, Clone)]
pub struct RangeCompactionOptions {
    /// Time between two looks at the tables.
    pub interval: Duration,
    /// What makes a range worth it.
    pub limits: Limits,
}

impl RangeCompactionOptions {
    fn read(conf: &Configuration) -> Result<Option<Self>, ScmError> {
        let interval = conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_INTERVAL);
        let percentage = conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE);
        let refused = |key: &'static str, reason: &'static str| ScmError::Setting { key, reason };
        if interval.is_zero() {
            let key = hdds::HDDS_RANGE_COMPACTION_SERVICE_INTERVAL.name();
            return Err(refused(key, "it must not be 0"));
        }
        if !(1..=100).contains(&percentage) {
            let key = hdds::HDDS_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE.name();
            return Err(refused(key, "it is no percentage from 1 to 100"));
        }
        let max_entries = &hdds::HDDS_RANGE_COMPACTION_SERVICE_MAX_COMPACTION_ENTRIES;
        let limits = Limits {
            max_entries: conf.get(max_entries).max(1),
            min_tombstones: conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_MIN_TOMBSTONES).max(1),
            tombstone_percentage: percentage,
        };
        let enabled = conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_ENABLED);
        Ok(enabled.then_some(Self { interval, limits }))
    }
}

impl ScmOptions {
    /// Reads the options from the configuration.
    ///
    /// # Errors
    /// When there is no directory for the metadata, or it is not clear which SCM of a service this
    /// is.
    pub fn from_configuration(conf: &Configuration) -> Result<Self, ScmError> {
        let members = Members::read(conf)?;
        let me = members.as_ref().map(|members| &members.me.node);
        let suffix = conf.scm_service().zip(me).map(|(s, n)| format!("{}.{}", s.id, n.node_id));
        let suffix = suffix.unwrap_or_default();
        let named = conf.get_for(&scm::OZONE_SCM_DB_DIRS, &suffix);
        let permissions =
            conf.directory_permissions(named.is_some(), &scm::OZONE_SCM_DB_DIRS_PERMISSIONS);
        let dir = match named {
            Some(dir) => dir,
            None => conf.directory(&scm::OZONE_SCM_DB_DIRS)?,
        };
        let raft_dir = conf.get_for(&scm::OZONE_SCM_HA_RATIS_STORAGE_DIR, &suffix);
        let http = conf.get(&scm::OZONE_SCM_HTTP_ENABLED);
        // A bind host holds for every SCM; ports, and hosts without one, are each SCM's own.
        let bind = |own: fn(&ScmNode) -> &HostPort, address, bind_host: &'static Key<String>| {
            let Some(me) = me else { return conf.bind_address(address, bind_host) };
            match conf.get(bind_host) {
                host if host.is_empty() => own(me).clone(),
                host => HostPort::new(host, own(me).port),
            }
        };
        let client_address =
            bind(|me| &me.client, &scm::OZONE_SCM_CLIENT_ADDRESS, &scm::OZONE_SCM_CLIENT_BIND_HOST);
        let web = || match me {
            Some(me) => me.http.clone(),
            None => conf.web_address(&scm::OZONE_SCM_HTTP_ADDRESS, "", &client_address.host),
        };
        Ok(Self {
            http_address: http.then(|| conf.bound(web(), &scm::OZONE_SCM_HTTP_BIND_HOST)),
            raft_dir: raft_dir.unwrap_or_else(|| dir.join("scm-ha")),
            permissions,
            client_address,
            block_address: bind(
                |me| &me.block,
                &scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS,
                &scm::OZONE_SCM_BLOCK_CLIENT_BIND_HOST,
            ),
            datanode_address: bind(
                |me| &me.datanode,
                &scm::OZONE_SCM_DATANODE_ADDRESS,
                &scm::OZONE_SCM_DATANODE_BIND_HOST,
            ),
            settings: settings(conf)?,
            racks: Arc::new(Racks::from_configuration(conf)?),
            watch_interval: conf.get(&scm::OZONE_SCM_HEARTBEAT_PROCESS_INTERVAL),
            pipeline_interval: conf.get(&scm::OZONE_SCM_PIPELINE_CREATION_INTERVAL),
            scrub_interval: conf.get(&scm::OZONE_SCM_PIPELINE_SCRUB_INTERVAL),
            review_interval: conf.get(&scm::HDDS_SCM_REPLICATION_THREAD_INTERVAL),
            repair_delay: conf.get(&scm::HDDS_SCM_WAIT_TIME_AFTER_SAFE_MODE_EXIT),
            admin_interval: conf.get(&scm::OZONE_SCM_DATANODE_ADMIN_MONITOR_INTERVAL),
            deletion_interval: conf.get(&scm::HDDS_SCM_BLOCK_DELETING_SERVICE_INTERVAL),
            deletion_share: Share::read(
                conf,
                &hdds::TRIOXIDE_BLOCK_DELETING_SHARE_WITH_CLIENTS,
                &hdds::TRIOXIDE_BLOCK_DELETING_OFF_PEAK_HOUR,
            )?,
            id_batch: conf.get(&scm::OZONE_SCM_SEQUENCE_ID_BATCH_SIZE).max(1),
            list_limit: conf.get(&scm::OZONE_SCM_CONTAINER_LIST_MAX_COUNT).max(1) as usize,
            cache_bytes: conf.get(&trioxide::TRIOXIDE_SCM_CACHE_SIZE).bytes(),
            trim_entries: conf.get(&scm::OZONE_SCM_HA_RATIS_SNAPSHOT_THRESHOLD).max(1),
            election_timeout: conf.get(&trioxide::TRIOXIDE_SCM_ELECTION_TIMEOUT),
            admin_policy: AdminPolicy::from_configuration(conf),
            members,
            bootstrap: false,
            connections: ConnectionOptions::from_configuration(conf),
            slow_request: conf.get(&trioxide::TRIOXIDE_SLOW_REQUEST_THRESHOLD),
            shutdown_timeout: conf.get(&trioxide::TRIOXIDE_SHUTDOWN_TIMEOUT),
            configuration: conf.clone(),
            balancer: balancer(conf)?,
            range_compaction: RangeCompactionOptions::read(conf)?,
            dir,
        })
    }
}

fn balancer(conf: &Configuration) -> Result<balance::Configuration, ScmError> {
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

fn settings(conf: &Configuration) -> Result<Settings, ScmError> {
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
