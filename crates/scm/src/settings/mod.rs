//! What SCM is started with, read from the configuration.

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
