//! Options of a client: addresses, sizes, limits, retries and timeouts.

use std::time::Duration;

use config::{Configuration, HostPort, keys};
use limits::MemoryBudget;
use proto::datanode::ChecksumType;
use types::{ReplicationConfig, WireError};

use crate::om::anywhere::FollowerReads;
use crate::om::transport::RetryPolicy;

/// Checksum type of chunks, and the bytes covered by one checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// The function.
    pub kind: ChecksumType,
    /// Bytes covered by one checksum.
    pub bytes_per_checksum: u32,
}

/// Minimum bytes covered by a checksum, as in Ozone's clients.
const MIN_BYTES_PER_CHECKSUM: u64 = 8 << 10;

/// Maximum size of a chunk: the limit of DataNodes per request.
const MAX_CHUNK: u64 = 32 << 20;

/// Maximum timeout of one attempt on OM or SCM before another server is tried.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// Options of a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The OMs, `host:port` of their framed endpoints; tried in turn until one is the leader.
    pub om_addresses: Vec<String>,
    /// The SCMs, `host:port` of their client endpoints.
    pub scm_addresses: Vec<String>,
    /// User of the requests.
    pub user: String,
    /// Connect timeout.
    pub connect_timeout: Duration,
    /// Timeout of one attempt of a metadata request.
    pub attempt_timeout: Duration,
    /// Timeout of a metadata request, retries included.
    pub deadline: Duration,
    /// Maximum pause between two attempts; the first pauses are shorter.
    pub max_backoff: Duration,
    /// Maximum number of retries of a failed write, each on another pipeline.
    pub write_retries: u32,
    /// Maximum number of retries of a failed stripe of an erasure-coded key, each on another block
    /// group.
    pub stripe_retries: u32,
    /// Maximum number of location lookups after all replicas failed.
    pub read_retries: u32,
    /// Maximum pause before such a lookup.
    pub read_retry_interval: Duration,
    /// Timeout of a read from a DataNode.
    pub read_timeout: Duration,
    /// Timeout of a write to a DataNode.
    pub write_timeout: Duration,
    /// Time without a sign of life after which a DataNode with an outstanding write is considered
    /// hung.
    pub silence: Duration,
    /// Time without a response after which a read is also sent to the next replica; the first
    /// response is used.
    pub hedge_after: Duration,
    /// Size of a chunk.
    pub chunk_size: usize,
    /// Bytes of a replicated key after which a PutBlock makes the written data durable, so that it
    /// can be released.
    pub flush_size: usize,
    /// Maximum unacknowledged bytes of the writer of a replicated key.
    pub max_unacknowledged: usize,
    /// Maximum unacknowledged bytes of the writer of an erasure-coded key, not counting parity; a
    /// PutBlock is sent when half of them are pending.
    pub max_unacknowledged_ec: usize,
    /// Maximum size of keys that are written in one request.
    pub small_size: usize,
    /// Readahead of a reader in bytes.
    pub read_ahead: usize,
    /// Size of one read request.
    pub read_size: usize,
    /// Checksums of chunks written.
    pub checksum: Checksum,
    /// Verify the checksums of data on read.
    pub verify_checksum: bool,
    /// Time for which a DataNode that failed a write is avoided.
    pub exclude_expiry: Duration,
    /// Read replicas in OM's order (nearest first).
    pub topology_aware_read: bool,
    /// Consistency of follower reads; `None` reads from the leader only.
    pub follower_reads: Option<FollowerReads>,
    /// Interval at which OMs are probed for follower reads.
    pub om_probe_interval: Duration,
    /// Entries per page when listing.
    pub list_page: u32,
    /// Memory budget of reads and writes; without one each writer and reader has only its own
    /// limit. For servers with many of them.
    pub memory: Option<MemoryBudget>,
    /// Block size of OM: the capacity of a new block if OM does not return it.
    pub block_size: u64,
}

impl ClientOptions {
    /// The options of a configuration, for the current user.
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
                // If set by the user, `--scm` means this SCM only.
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

    /// Sets the user.
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

/// The default replication of keys in a configuration.
///
/// # Errors
/// If the two keys of the replication are inconsistent.
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

/// The OMs of the first OM service with nodes, or the one of `ozone.om.address`.
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
