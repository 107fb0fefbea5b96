//! What a client is told: addresses, sizes, limits, how often and how long to try.

use std::time::Duration;

use config::{Configuration, HostPort, keys};
use limits::MemoryBudget;
use proto::datanode::ChecksumType;
use types::{ReplicationConfig, WireError};

use crate::om::anywhere::FollowerReads;
use crate::om::transport::RetryPolicy;

/// Which checksum chunks get, and over how many bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// The function.
    pub kind: ChecksumType,
    /// Bytes covered by one checksum.
    pub bytes_per_checksum: u32,
}

/// Smallest slice a checksum may cover, as Ozone's clients hold it.
const MIN_BYTES_PER_CHECKSUM: u64 = 8 << 10;

/// Largest chunk: what DataNodes take in one request.
const MAX_CHUNK: u64 = 32 << 20;

/// The longest one attempt at OM or SCM may take before another is tried.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// Everything a client is told.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The OMs, `host:port` of their framed endpoints; asked in turn until one is leader.
    pub om_addresses: Vec<String>,
    /// The SCMs, `host:port` of their client endpoints.
    pub scm_addresses: Vec<String>,
    /// User on whose behalf requests are made.
    pub user: String,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long one attempt at a metadata request may take.
    pub attempt_timeout: Duration,
    /// How long a metadata request may take altogether, retries included.
    pub deadline: Duration,
    /// The longest pause between two attempts; the first pauses are shorter.
    pub max_backoff: Duration,
    /// How often a failed write is tried again on another pipeline.
    pub write_retries: u32,
    /// How often a failed stripe of an erasure-coded key is written again, to another block group.
    pub stripe_retries: u32,
    /// How often locations are looked up again after all replicas failed.
    pub read_retries: u32,
    /// The longest pause before that.
    pub read_retry_interval: Duration,
    /// How long a DataNode may take to answer a read.
    pub read_timeout: Duration,
    /// How long a DataNode may take to answer a write.
    pub write_timeout: Duration,
    /// A DataNode that owes an answer to a write and gives no sign of life for so long hangs.
    pub silence: Duration,
    /// A read not answered by then is asked of the next replica too; the first answer counts.
    pub hedge_after: Duration,
    /// Size of a chunk.
    pub chunk_size: usize,
    /// Bytes of a replicated key after which a PutBlock makes what was written durable, so that it
    /// can be released.
    pub flush_size: usize,
    /// Bytes the writer of a replicated key may hold unacknowledged.
    pub max_unacknowledged: usize,
    /// Bytes the writer of an erasure-coded key may hold unacknowledged, parity not counted; a
    /// PutBlock is sent when half of them wait.
    pub max_unacknowledged_ec: usize,
    /// Keys up to this size travel in one request.
    pub small_size: usize,
    /// Bytes a reader asks for ahead of its consumer.
    pub read_ahead: usize,
    /// Size of one read request.
    pub read_size: usize,
    /// Checksums of chunks written.
    pub checksum: Checksum,
    /// Verify checksums of what is read.
    pub verify_checksum: bool,
    /// How long a DataNode that failed a write is avoided.
    pub exclude_expiry: Duration,
    /// Read in the order OM gives (nearest first).
    pub topology_aware_read: bool,
    /// Reads go to any OM, not to the leader only, when this says how.
    pub follower_reads: Option<FollowerReads>,
    /// How often OMs are asked how far they are, where reads go to any.
    pub om_probe_interval: Duration,
    /// Entries per page when listing.
    pub list_page: u32,
    /// Memory for what is written and read; without a budget each writer and reader has its own
    /// bound only. For servers, which have many of them.
    pub memory: Option<MemoryBudget>,
    /// Block size, as OM has it: what a new block can hold when OM does not say.
    pub block_size: u64,
}

impl ClientOptions {
    /// The options that a configuration describes, for the current user.
    pub fn from_configuration(conf: &Configuration) -> Self {
        use keys::{client as c, hdds, om, scm, trioxide};
        let chunk = conf
            .get(&c::OZONE_CLIENT_STREAM_BUFFER_SIZE)
            .bytes()
            .clamp(MIN_BYTES_PER_CHECKSUM, MAX_CHUNK) as usize;
        let max_unacknowledged =
            conf.get(&c::OZONE_CLIENT_STREAM_BUFFER_MAX_SIZE).as_usize().max(2 * chunk);
        let deadline = conf
            .get(&trioxide::TRIOXIDE_CLIENT_DEADLINE)
            .min(conf.get(&c::OZONE_OM_CLIENT_RPC_TIMEOUT));
        Self {
            om_addresses: om_addresses(conf),
            scm_addresses: match conf.scm_service() {
                // Named by the user, `--scm` means this one only.
                Some(service) if !conf.is_set(&scm::OZONE_SCM_CLIENT_ADDRESS) => {
                    service.nodes.iter().map(|n| n.client.connect().to_string()).collect()
                }
                _ => vec![conf.get(&scm::OZONE_SCM_CLIENT_ADDRESS).connect().to_string()],
            },
            user: current_user(),
            connect_timeout: conf.get(&c::OZONE_CLIENT_CONNECTION_TIMEOUT),
            attempt_timeout: deadline.min(ATTEMPT_TIMEOUT),
            deadline,
            max_backoff: Duration::from_millis(
                conf.get(&c::OZONE_CLIENT_WAIT_BETWEEN_RETRIES_MILLIS),
            ),
            write_retries: conf.get(&c::OZONE_CLIENT_MAX_RETRIES),
            stripe_retries: conf.get(&c::OZONE_CLIENT_MAX_EC_STRIPE_WRITE_RETRIES),
            read_retries: conf.get(&c::OZONE_CLIENT_READ_MAX_RETRIES),
            read_retry_interval: Duration::from_secs(
                conf.get(&c::OZONE_CLIENT_READ_RETRY_INTERVAL),
            ),
            read_timeout: conf.get(&c::OZONE_CLIENT_READ_TIMEOUT),
            write_timeout: conf.get(&c::HDDS_RATIS_RAFT_CLIENT_RPC_REQUEST_TIMEOUT),
            silence: conf.get(&trioxide::TRIOXIDE_CLIENT_DATANODE_SILENCE),
            hedge_after: conf.get(&trioxide::TRIOXIDE_CLIENT_HEDGE_AFTER),
            chunk_size: chunk,
            flush_size: (max_unacknowledged / 2).max(chunk),
            max_unacknowledged,
            max_unacknowledged_ec: conf
                .get(&trioxide::TRIOXIDE_CLIENT_EC_STREAM_BUFFER_MAX_SIZE)
                .as_usize(),
            small_size: conf.get(&trioxide::TRIOXIDE_SMALL_BLOCK_SIZE).as_usize().min(chunk),
            read_ahead: 4 * chunk,
            read_size: chunk,
            checksum: Checksum {
                kind: checksum_type(&conf.get(&c::OZONE_CLIENT_CHECKSUM_TYPE)),
                bytes_per_checksum: conf
                    .get(&c::OZONE_CLIENT_BYTES_PER_CHECKSUM)
                    .bytes()
                    .clamp(MIN_BYTES_PER_CHECKSUM, chunk as u64)
                    as u32,
            },
            verify_checksum: conf.get(&c::OZONE_CLIENT_VERIFY_CHECKSUM),
            exclude_expiry: conf.get(&c::OZONE_CLIENT_EXCLUDE_NODES_EXPIRY_TIME),
            topology_aware_read: conf.get(&c::OZONE_NETWORK_TOPOLOGY_AWARE_READ),
            follower_reads: conf.get(&c::OZONE_CLIENT_FOLLOWER_READ_ENABLED).then(|| {
                match conf.get(&c::OZONE_CLIENT_FOLLOWER_READ_DEFAULT_CONSISTENCY).as_str() {
                    "LOCAL_LEASE" => FollowerReads::Local {
                        max_lag: conf.get(&trioxide::TRIOXIDE_CLIENT_OM_MAX_LAG),
                    },
                    _ => FollowerReads::Linearizable,
                }
            }),
            om_probe_interval: conf.get(&trioxide::TRIOXIDE_CLIENT_OM_PROBE_INTERVAL),
            list_page: conf.get(&c::OZONE_CLIENT_LIST_CACHE).max(1),
            memory: None,
            block_size: conf.get(&hdds::OZONE_SCM_BLOCK_SIZE).bytes(),
        }
        .check_addresses(conf.get(&om::OZONE_OM_ADDRESS))
    }

    /// On behalf of another user.
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.user = user.into();
        self
    }

    pub(crate) fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy {
            connect_timeout: self.connect_timeout,
            attempt_timeout: self.attempt_timeout,
            deadline: self.deadline,
            max_backoff: self.max_backoff,
        }
    }

    fn check_addresses(mut self, default: HostPort) -> Self {
        if self.om_addresses.is_empty() {
            self.om_addresses.push(default.connect().to_string());
        }
        self
    }
}

/// The OMs of the first OM service with nodes, or the one of `ozone.om.address`.
/// The replication that a configuration wants keys written with, when nobody says one.
///
/// # Errors
/// When the two keys that say it do not fit together.
pub fn configured_replication(
    conf: &Configuration,
) -> Result<Option<ReplicationConfig>, WireError> {
    let value = conf.get(&keys::client::OZONE_REPLICATION);
    let kind = conf.get(&keys::client::OZONE_REPLICATION_TYPE);
    match value.is_empty() {
        true => Ok(None),
        false => ReplicationConfig::parse(&kind, &value).map(Some),
    }
}

fn om_addresses(conf: &Configuration) -> Vec<String> {
    let services = conf.get(&keys::om::OZONE_OM_SERVICE_IDS);
    services
        .iter()
        .map(|service| {
            let gone = conf.get_for(&keys::om::OZONE_OM_DECOMMISSIONED_NODES, service);
            conf.get_for(&keys::om::OZONE_OM_NODES, service)
                .iter()
                .filter(|node| !gone.contains(node))
                .map(|node| {
                    let suffix = format!("{service}.{node}");
                    conf.get_for(&keys::om::OZONE_OM_ADDRESS, &suffix).connect().to_string()
                })
                .collect::<Vec<_>>()
        })
        .find(|addresses| !addresses.is_empty())
        .unwrap_or_default()
}

fn checksum_type(name: &str) -> ChecksumType {
    ChecksumType::from_str_name(&name.to_ascii_uppercase()).unwrap_or(ChecksumType::Crc32)
}

fn current_user() -> String {
    ["HADOOP_USER_NAME", "USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()))
        .unwrap_or_else(|| "root".to_owned())
}
