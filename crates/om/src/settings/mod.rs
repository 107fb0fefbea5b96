//! OM's settings: the configuration, read once, as plain values.

mod compaction;
mod options;
mod rules;

use std::path::PathBuf;
use std::time::Duration;

use config::keys::{hdds, om as keys, scm, trioxide};
use config::{ByteSize, Configuration, DirPermissions, HostPort, ScmNode};
use limits::{CallQueueOptions, ConnectionOptions};
use metastore::StoreOptions;
use namespace::Settings;
use service::{AuditOptions, Hours};

use crate::background::{CleanupOptions, DeletingOptions, FullCompactionOptions, TrashOptions};
use crate::dispatch::{DiffOptions, Limits, LocalReads};
use crate::error::Error;
use crate::members::Members;
use crate::scm::{PoolOptions, ScmAddresses};
use crate::state::CacheSizes;
use crate::state::compaction::CompactionOptions;
use compaction::{compaction, full_compaction};
use rules::settings;

pub use options::{Bootstrap, OmOptions, RootCredentials};

/// Bytes of unflushed rows over all tables.
const WRITE_BUFFER: usize = 64 << 20;

/// The settings of an OM.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) members: Members,
    pub(crate) election_timeout: Duration,
    pub(crate) snapshot_rate: u64,
    /// Bytes a second of a copy of the tables; 0 for no limit.
    pub(crate) checkpoint_rate: u64,
    /// Time for which a reader of a copy may read nothing.
    pub(crate) stall: Duration,
    /// Bytes of updates in one answer.
    pub(crate) delta_update_size: ByteSize,
    pub(crate) local_reads: LocalReads,
    /// Directory of the tables; `om/` within holds the rest.
    pub(crate) dir: PathBuf,
    pub(crate) raft_dir: PathBuf,
    /// Permissions of both.
    pub(crate) permissions: DirPermissions,
    pub(crate) address: HostPort,
    /// `None` when there is no gRPC endpoint.
    pub(crate) grpc_port: Option<u16>,
    pub(crate) grpc_max_message: usize,
    pub(crate) http: Option<HostPort>,
    pub(crate) connections: ConnectionOptions,
    pub(crate) limits: Limits,
    /// A request that takes as long is logged; zero for none.
    pub(crate) slow_request: Duration,
    pub(crate) scm: Vec<ScmAddresses>,
    pub(crate) scm_client: HostPort,
    pub(crate) scm_timeout: Duration,
    /// Interval of requests for all SCM addresses; `None` without a service.
    pub(crate) scm_refresh: Option<Duration>,
    pub(crate) store: StoreOptions,
    pub(crate) trim_entries: u64,
    pub(crate) settings: Settings,
    pub(crate) pool: PoolOptions,
    pub(crate) audit: Option<AuditOptions>,
    pub(crate) audit_reads: bool,
    pub(crate) caches: CacheSizes,
    pub(crate) key_deleting: DeletingOptions,
    pub(crate) directory_deleting: DeletingOptions,
    pub(crate) snapshot_deleting: DeletingOptions,
    /// Time for which blocks of deleted keys, and deleted snapshots, are kept for readers.
    pub(crate) keep_deleted: Duration,
    pub(crate) snapshot_diffs: DiffOptions,
    pub(crate) open_keys: CleanupOptions,
    /// Age at which OM closes a key that was synced and not closed.
    pub(crate) lease_hard_limit: Duration,
    pub(crate) uploads: CleanupOptions,
    /// `None` when nothing empties the trash.
    pub(crate) trash: Option<TrashOptions>,
    pub(crate) compaction: CompactionOptions,
    /// `None` when whole tables are not compacted.
    pub(crate) full_compaction: Option<FullCompactionOptions>,
}

impl Setup {
    pub(crate) fn read(conf: &Configuration) -> Result<Self, Error> {
        let members = Members::read(conf)?;
        let me = format!("{}.{}", members.service_id, members.me.node_id);
        let named = conf.get_for(&keys::OZONE_OM_DB_DIRS, &me);
        let permissions =
            conf.directory_permissions(named.is_some(), &keys::OZONE_OM_DB_DIRS_PERMISSIONS);
        let dir = match named {
            Some(dir) => dir,
            None => conf.directory(&keys::OZONE_OM_DB_DIRS).map_err(|_| Error::NoDirectory)?,
        };
        let home = dir.join("om");
        let raft_dir = conf.get_for(&keys::OZONE_OM_RATIS_STORAGE_DIR, &me);
        let raft_dir = raft_dir.unwrap_or(home.join("ratis"));
        let http = conf.get(&keys::OZONE_OM_HTTP_ENABLED);
        let http =
            http.then(|| conf.bound(members.me.http.clone(), &keys::OZONE_OM_HTTP_BIND_HOST));
        let (scm_client, scm) = scm_addresses(conf);
        let audit = conf.get(&trioxide::TRIOXIDE_AUDIT_ENABLED).then(|| {
            let dir = conf.get(&trioxide::TRIOXIDE_AUDIT_DIR).unwrap_or(home.join("audit"));
            AuditOptions {
                rotate_at: conf.get(&trioxide::TRIOXIDE_AUDIT_FILE_SIZE).bytes(),
                flush_interval: conf.get(&trioxide::TRIOXIDE_AUDIT_FLUSH_INTERVAL),
                ..AuditOptions::new("OMAudit", dir.join("om-audit.log"))
            }
        });
        let settings = settings(conf)?;
        Ok(Self {
            pool: PoolOptions {
                size: (conf.get(&trioxide::TRIOXIDE_OM_BLOCK_POOL_SIZE) as usize).max(1),
                max_age: conf.get(&trioxide::TRIOXIDE_OM_BLOCK_POOL_AGE),
                block_size: settings.block_size,
                owner: members.service_id.clone(),
            },
            address: members.me.rpc.clone(),
            grpc_port: conf
                .get(&keys::OZONE_OM_S3_GRPC_SERVER_ENABLED)
                .then(|| conf.get_for(&keys::OZONE_OM_GRPC_PORT, &me)),
            grpc_max_message: conf.get(&keys::OZONE_OM_GRPC_MAXIMUM_RESPONSE_LENGTH).as_usize(),
            http,
            connections: ConnectionOptions::from_configuration(conf),
            limits: limits(conf, members.me.rpc.port)?,
            slow_request: conf.get(&trioxide::TRIOXIDE_SLOW_REQUEST_THRESHOLD),
            scm,
            scm_client,
            scm_refresh: conf
                .scm_service()
                .map(|_| conf.get(&trioxide::TRIOXIDE_OM_SCM_REFRESH_INTERVAL)),
            scm_timeout: conf.get(&keys::OZONE_OM_SCM_REQUEST_TIMEOUT),
            store: StoreOptions {
                block_cache_bytes: conf.get(&trioxide::TRIOXIDE_OM_CACHE_SIZE).as_usize(),
                write_buffer_bytes: WRITE_BUFFER,
                background_threads: 2,
                max_open_files: conf.get(&keys::OZONE_OM_DB_MAX_OPEN_FILES),
                ..StoreOptions::default()
            },
            trim_entries: conf.get(&keys::OZONE_OM_RATIS_SNAPSHOT_AUTO_TRIGGER_THRESHOLD).max(1),
            settings,
            audit,
            audit_reads: conf.get(&trioxide::TRIOXIDE_AUDIT_READS),
            key_deleting: DeletingOptions {
                interval: conf.get(&keys::OZONE_OM_KEY_DELETING_SERVICE_INTERVAL),
                limit: limit(conf.get(&keys::OZONE_KEY_DELETING_LIMIT_PER_TASK)),
            },
            directory_deleting: DeletingOptions {
                interval: conf.get(&keys::OZONE_DIRECTORY_DELETING_SERVICE_INTERVAL),
                limit: limit(conf.get(&keys::OZONE_PATH_DELETING_LIMIT_PER_TASK)),
            },
            snapshot_deleting: DeletingOptions {
                interval: conf.get(&keys::OZONE_SNAPSHOT_DELETING_SERVICE_INTERVAL),
                limit: limit(conf.get(&keys::OZONE_SNAPSHOT_KEY_DELETING_LIMIT_PER_TASK)),
            },
            keep_deleted: conf.get(&keys::TRIOXIDE_OM_DELETED_BLOCKS_KEPT),
            snapshot_diffs: DiffOptions {
                page: limit(conf.get(&keys::OZONE_OM_SNAPSHOT_DIFF_MAX_PAGE_SIZE)),
                running: limit(conf.get(&keys::OZONE_OM_SNAPSHOT_DIFF_THREAD_POOL_SIZE)),
                wait: conf.get(&keys::OZONE_OM_SNAPSHOT_DIFF_JOB_DEFAULT_WAIT_TIME),
                keep: conf.get(&keys::OZONE_OM_SNAPSHOT_DIFF_JOB_REPORT_PERSISTENT_TIME),
                most_changes: usize::try_from(
                    conf.get(&keys::OZONE_OM_SNAPSHOT_DIFF_MAX_ALLOWED_KEYS_CHANGED_PER_JOB),
                )
                .unwrap_or(usize::MAX),
            },
            caches: CacheSizes {
                directories: conf.get(&trioxide::TRIOXIDE_OM_DIRECTORY_CACHE_SIZE).as_usize(),
                updates: conf.get(&trioxide::TRIOXIDE_OM_UPDATES_MEMORY).as_usize(),
            },
            open_keys: CleanupOptions {
                interval: conf.get(&keys::OZONE_OM_OPEN_KEY_CLEANUP_SERVICE_INTERVAL),
                expire: conf.get(&keys::OZONE_OM_OPEN_KEY_EXPIRE_THRESHOLD),
                limit: limit(conf.get(&keys::OZONE_OM_OPEN_KEY_CLEANUP_LIMIT_PER_TASK)),
            },
            lease_hard_limit: conf.get(&keys::OZONE_OM_LEASE_HARD_LIMIT),
            uploads: CleanupOptions {
                interval: conf.get(&keys::OZONE_OM_OPEN_MPU_CLEANUP_SERVICE_INTERVAL),
                expire: conf.get(&keys::OZONE_OM_OPEN_MPU_EXPIRE_THRESHOLD),
                limit: limit(conf.get(&keys::OZONE_OM_OPEN_MPU_PARTS_CLEANUP_LIMIT_PER_TASK)),
            },
            trash: trash(conf),
            compaction: compaction(conf)?,
            full_compaction: full_compaction(conf)?,
            election_timeout: conf.get(&trioxide::TRIOXIDE_OM_ELECTION_TIMEOUT),
            snapshot_rate: conf.get(&trioxide::TRIOXIDE_OM_SNAPSHOT_RATE).bytes(),
            checkpoint_rate: conf.get(&trioxide::TRIOXIDE_OM_CHECKPOINT_RATE).bytes(),
            stall: conf.get(&trioxide::TRIOXIDE_SERVER_STALL_TIMEOUT),
            delta_update_size: conf.get(&keys::OZONE_OM_DELTA_UPDATE_DATA_SIZE_MAX_LIMIT),
            local_reads: LocalReads {
                enabled: conf.get(&keys::OZONE_OM_FOLLOWER_READ_LOCAL_LEASE_ENABLED),
                entries: bound(conf.get(&keys::OZONE_OM_FOLLOWER_READ_LOCAL_LEASE_LOG_LIMIT)),
                millis: bound(conf.get(&keys::OZONE_OM_FOLLOWER_READ_LOCAL_LEASE_TIME_MS)),
            },
            members,
            dir,
            raft_dir,
            permissions,
        })
    }
}

/// Bounds of concurrent requests, and the order of queued ones.
fn limits(conf: &Configuration, port: u16) -> Result<Limits, Error> {
    let places = |key| conf.get::<u32>(key) as usize;
    Ok(Limits {
        reads: places(&trioxide::TRIOXIDE_OM_LIMIT_READS),
        writes: places(&trioxide::TRIOXIDE_OM_LIMIT_WRITES),
        lists: places(&trioxide::TRIOXIDE_OM_LIMIT_LISTS),
        waiting: places(&trioxide::TRIOXIDE_OM_LIMIT_WAITING),
        background: places(&trioxide::TRIOXIDE_OM_LIMIT_BACKGROUND),
        background_share: conf.get(&trioxide::TRIOXIDE_OM_BACKGROUND_SHARE),
        off_peak: Hours::read(conf, &hdds::TRIOXIDE_BLOCK_DELETING_OFF_PEAK_HOUR)?,
        order: CallQueueOptions::from_configuration(conf, port)?,
    })
}

/// Ozone's keys go before Hadoop's.
fn trash(conf: &Configuration) -> Option<TrashOptions> {
    let keep = conf.get(&keys::OZONE_FS_TRASH_INTERVAL);
    let every = conf.get(&keys::OZONE_FS_TRASH_CHECKPOINT_INTERVAL);
    TrashOptions::of(
        keep.unwrap_or_else(|| conf.get(&keys::FS_TRASH_INTERVAL)),
        every.unwrap_or_else(|| conf.get(&keys::FS_TRASH_CHECKPOINT_INTERVAL)),
    )
}

/// A bound of Ozone's kind: negative for none.
fn bound(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn limit(n: u32) -> usize {
    (n as usize).max(1)
}

/// SCM's addresses: its client endpoint's, and both as strings. A wildcard means this host.
fn scm_addresses(conf: &Configuration) -> (HostPort, Vec<ScmAddresses>) {
    if let Some(service) = conf.scm_service() {
        let address = |node: &ScmNode| ScmAddresses {
            block: node.block.connect().to_string(),
            client: node.client.connect().to_string(),
        };
        let first = service.nodes.first().map(|node| node.client.connect());
        let first = first.unwrap_or_else(|| conf.get(&scm::OZONE_SCM_CLIENT_ADDRESS).connect());
        return (first, service.nodes.iter().map(address).collect());
    }
    let named = conf.get(&scm::OZONE_SCM_NAMES).into_iter().next();
    let host = |address: HostPort, set: bool, fallback: Option<&str>| match fallback {
        Some(host) if !set => HostPort::new(host, address.port).connect(),
        _ => address.connect(),
    };
    let set = conf.is_set(&scm::OZONE_SCM_CLIENT_ADDRESS);
    let client = host(conf.get(&scm::OZONE_SCM_CLIENT_ADDRESS), set, named.as_deref());
    let set = conf.is_set(&scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS);
    let block = host(conf.get(&scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS), set, Some(&client.host));
    let addresses = ScmAddresses { block: block.to_string(), client: client.to_string() };
    (client, vec![addresses])
}
