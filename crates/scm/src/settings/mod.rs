//! Start options of SCM, read from the configuration.

mod range_compaction;
mod rules;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::keys::{hdds, scm, trioxide};
use config::{Configuration, DirPermissions, HostPort, Key, ScmNode};
use limits::ConnectionOptions;
use placement::{Settings, balance};
use service::{AdminPolicy, Share};
use topology::Racks;

pub use range_compaction::RangeCompactionOptions;
use rules::{balancer, settings};

use crate::ScmError;
use crate::members::Members;

/// Maximum of container and deletion transaction ids reserved at a time. The rest of a batch is
/// skipped at a restart, and people read these ids.
pub const FEW_IDS: u64 = 1_000;

/// Start options of SCM.
#[derive(Debug, Clone)]
pub struct ScmOptions {
    /// Directory of the tables, the VERSION file and, by default, the Raft log.
    pub dir: PathBuf,
    /// Directory of the Raft log.
    pub raft_dir: PathBuf,
    /// Permissions of both.
    pub permissions: DirPermissions,
    /// Endpoint for clients and administrators.
    pub client_address: HostPort,
    /// Endpoint for OM's block requests.
    pub block_address: HostPort,
    /// Endpoint for DataNodes.
    pub datanode_address: HostPort,
    /// Address of the status page, if enabled.
    pub http_address: Option<HostPort>,
    /// Settings of the rules.
    pub settings: Settings,
    /// Source of the hosts' racks.
    pub racks: Arc<Racks>,
    /// Interval of checks of heartbeat ages.
    pub watch_interval: Duration,
    /// Interval of checks for missing pipelines, in addition to those after changes.
    pub pipeline_interval: Duration,
    /// Interval of checks of unopened pipelines, in addition to those after changes.
    pub scrub_interval: Duration,
    /// Interval of checks of containers in transition, in addition to those after changes.
    pub review_interval: Duration,
    /// Time after safe mode without copies or deletions of replicas: nodes may still register.
    pub repair_delay: Duration,
    /// Interval of checks of nodes that leave service, in addition to those after changes.
    pub admin_interval: Duration,
    /// Interval of deletion rounds, in addition to those after new deletions.
    pub deletion_interval: Duration,
    /// Limit of the time share of deletion rounds while clients allocate blocks.
    pub deletion_share: Share,
    /// Block ids reserved at a time; of other ids, at most [`FEW_IDS`].
    pub id_batch: u64,
    /// Most containers in one listing.
    pub list_limit: usize,
    /// Memory for cached blocks of the tables.
    pub cache_bytes: u64,
    /// Applied changes after which the tables are made durable and the Raft log is trimmed.
    pub trim_entries: u64,
    /// Administrators of this SCM.
    pub admin_policy: AdminPolicy,
    /// The other SCMs, if there are any.
    pub members: Option<Members>,
    /// True if this SCM joins a running service.
    pub bootstrap: bool,
    /// Silence of a leader after which an election begins.
    pub election_timeout: Duration,
    /// Limits of each endpoint: number of connections, and their idle time.
    pub connections: ConnectionOptions,
    /// A request that takes as long is logged; zero for none.
    pub slow_request: Duration,
    /// Time limit of a shutdown.
    pub shutdown_timeout: Duration,
    /// The configuration itself, for other readers.
    pub configuration: Configuration,
    /// Configuration of the container balancer, unless its start overrides it.
    pub balancer: balance::Configuration,
    /// Options of range compaction of the tables; `None` if it is off.
    pub range_compaction: Option<RangeCompactionOptions>,
}

impl ScmOptions {
    /// Reads the options from the configuration.
    ///
    /// # Errors
    /// When there is no directory for the metadata, or the configuration does not identify this
    /// SCM.
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
        // A bind host applies to every SCM; ports, and hosts without one, are each SCM's own.
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
