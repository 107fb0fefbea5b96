//! Keys Ozone does not have.

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::value::{ByteSize, StorageTypes};

keys! {
    /// Reaction to a configuration key that is unknown or has no effect: warn, refuse to start, or
    /// ignore it. A key is unknown only if it begins with ozone., hdds., trioxide., net.topology.,
    /// hadoop., dfs., ssl. or ipc. and is not set in core-site.xml or hdfs-site.xml.
    TRIOXIDE_CONFIG_UNKNOWN_KEYS: String = "trioxide.config.unknown.keys", "warn", [COMMON], one of ["ignore", "warn", "error"];
    /// Log filter, in the syntax of tracing's filters: warn,om=debug.
    TRIOXIDE_LOG_FILTER: String = "trioxide.log.filter", "info,raft_engine=warn,s3s=off", [COMMON];
    /// Format of log lines: text for people, json for machines.
    TRIOXIDE_LOG_FORMAT: String = "trioxide.log.format", "text", [COMMON], one of ["text", "json"];
    /// Duration above which a request is logged with the duration of each of its stages; 0 disables
    /// it. DataNodes use hdds.datanode.slow.op.warning.threshold.
    TRIOXIDE_SLOW_REQUEST_THRESHOLD: Duration = "trioxide.slow.request.threshold", "1s", [OM, SCM];
    /// The same for requests to the S3 gateway, whose duration depends on the size of objects.
    TRIOXIDE_S3G_SLOW_REQUEST_THRESHOLD: Duration = "trioxide.s3g.slow.request.threshold", "10s", [S3G];
    /// Minimum rate of a request's body at the S3 gateway, in bytes per second. A client that lags
    /// by more than trioxide.server.stall.timeout, or by 5 seconds while other uploads wait for
    /// memory (trioxide.memory.limit), is disconnected with RequestTimeout. 0 for no minimum.
    TRIOXIDE_S3G_MINIMUM_UPLOAD_RATE: ByteSize = "trioxide.s3g.minimum.upload.rate", "8KB", [S3G];
    /// Directory of the audit logs of OM and DataNode; the role's metadata directory if unset.
    TRIOXIDE_AUDIT_DIR: Option<PathBuf> = "trioxide.audit.dir", "", [OM, DATANODE];
    /// Write audit logs: of all requests in OM, of reconstructions in the DataNode.
    TRIOXIDE_AUDIT_ENABLED: bool = "trioxide.audit.enabled", "true", [OM, DATANODE];
    /// Also write reads to the audit log. Ozone's default log settings omit them.
    TRIOXIDE_AUDIT_READS: bool = "trioxide.audit.reads", "false", [OM];
    /// Size at which the audit log is rotated.
    TRIOXIDE_AUDIT_FILE_SIZE: ByteSize = "trioxide.audit.file.size", "256MB", [OM, DATANODE];
    /// Interval at which buffered audit lines are flushed to the file.
    TRIOXIDE_AUDIT_FLUSH_INTERVAL: Duration = "trioxide.audit.flush.interval", "200ms", [OM, DATANODE];
    /// Timeout of a graceful shutdown.
    TRIOXIDE_SHUTDOWN_TIMEOUT: Duration = "trioxide.shutdown.timeout", "10s", [COMMON];
    /// Size of the RocksDB block cache of OM.
    TRIOXIDE_OM_CACHE_SIZE: ByteSize = "trioxide.om.cache.size", "1GB", [OM];
    /// Size of OM's cache of decoded directories of FILE_SYSTEM_OPTIMIZED buckets.
    TRIOXIDE_OM_DIRECTORY_CACHE_SIZE: ByteSize = "trioxide.om.directory.cache.size", "128MB", [OM];
    /// Maximum number of client reads that OM processes concurrently; others are queued (keys that
    /// begin with ipc).
    TRIOXIDE_OM_LIMIT_READS: u32 = "trioxide.om.limit.reads", "1024", [OM];
    /// Maximum number of client writes that OM processes concurrently. They share syncs of the log.
    /// A number far above the size of a batch only delays later writes.
    TRIOXIDE_OM_LIMIT_WRITES: u32 = "trioxide.om.limit.writes", "512", [OM];
    /// Maximum number of long listings that OM processes concurrently, each on a thread of its own;
    /// 0 for the number of processors.
    TRIOXIDE_OM_LIMIT_LISTS: u32 = "trioxide.om.limit.lists", "0", [OM];
    /// Maximum number of queued requests of each of these kinds.
    TRIOXIDE_OM_LIMIT_WAITING: u32 = "trioxide.om.limit.waiting", "8192", [OM];
    /// Maximum number of concurrent writes of OM's background services.
    TRIOXIDE_OM_LIMIT_BACKGROUND: u32 = "trioxide.om.limit.background", "4", [OM];
    /// Maximum share of the time, in percent, that the writes of a background service take while
    /// clients send requests.
    TRIOXIDE_OM_BACKGROUND_SHARE: u32 = "trioxide.om.background.share", "25", [OM];
    /// Time without a message from the leader after which an SCM starts an election, randomized up
    /// to twice this time.
    TRIOXIDE_SCM_ELECTION_TIMEOUT: Duration = "trioxide.scm.election.timeout", "1s", [SCM];
    /// Size of the RocksDB block cache of SCM.
    TRIOXIDE_SCM_CACHE_SIZE: ByteSize = "trioxide.scm.cache.size", "64MB", [SCM];
    /// Time without a message from the leader after which an OM starts an election, randomized up
    /// to twice this time. A third of it is the leader's lease, in which it serves reads without
    /// asking the other OMs; a read can be stale only if the leader's clock runs at less than a
    /// third of the speed of another OM's.
    TRIOXIDE_OM_ELECTION_TIMEOUT: Duration = "trioxide.om.election.timeout", "1s", [OM];
    /// Maximum bytes per second at which a leader sends its tables to an OM that lags too far for
    /// the log; 0 for no limit.
    TRIOXIDE_OM_SNAPSHOT_RATE: ByteSize = "trioxide.om.snapshot.rate", "200MB", [OM];
    /// Maximum bytes per second at which OM sends a checkpoint over HTTP (/dbCheckpoint, which
    /// Recon downloads); 0 for no limit.
    TRIOXIDE_OM_CHECKPOINT_RATE: ByteSize = "trioxide.om.checkpoint.rate", "100MB", [OM];
    /// Memory for recently written rows, which Recon requests after it has downloaded a checkpoint.
    /// Nothing is kept while Recon sends no requests. If it is too small for the writes between two
    /// requests, Recon downloads a new checkpoint.
    TRIOXIDE_OM_UPDATES_MEMORY: ByteSize = "trioxide.om.updates.memory", "64MB", [OM];
    /// Interval at which a client that reads from followers probes the log position and latency of
    /// each OM.
    TRIOXIDE_CLIENT_OM_PROBE_INTERVAL: Duration = "trioxide.client.om.probe.interval", "3s", [CLIENT, S3G];
    /// Maximum number of log entries by which an OM may lag the most advanced one for such a client
    /// to read from it.
    TRIOXIDE_CLIENT_OM_MAX_LAG: u64 = "trioxide.client.om.max.lag", "10000", [CLIENT, S3G];
    /// Interval at which OM asks SCM for the current members of the SCM service.
    TRIOXIDE_OM_SCM_REFRESH_INTERVAL: Duration = "trioxide.om.scm.refresh.interval", "10s", [OM];
    /// Number of blocks per replication that OM allocates in advance, so that creating a key needs
    /// no request to SCM.
    TRIOXIDE_OM_BLOCK_POOL_SIZE: u32 = "trioxide.om.block.pool.size", "1000", [OM];
    /// Age at which blocks allocated in advance are dropped.
    TRIOXIDE_OM_BLOCK_POOL_AGE: Duration = "trioxide.om.block.pool.age", "1m", [OM];
    /// Maximum size of blocks that are sent together with their record in one request and packed
    /// into segment files.
    TRIOXIDE_SMALL_BLOCK_SIZE: ByteSize = "trioxide.small.block.size", "128KB", [CLIENT, DATANODE, S3G];
    /// I/O backend of the DataNode; threads is the only one, and auto selects it.
    TRIOXIDE_DATANODE_IO: String = "trioxide.datanode.io", "auto", [DATANODE], one of ["auto", "threads"];
    /// Timeout of a client's metadata request, failover and retries included.
    TRIOXIDE_CLIENT_DEADLINE: Duration = "trioxide.client.deadline", "60s", [CLIENT, S3G];
    /// Time without a sign of life after which a client treats a DataNode with an outstanding
    /// write, which it has pinged, as hung and writes the data elsewhere. It does not limit the
    /// duration of the write.
    TRIOXIDE_CLIENT_DATANODE_SILENCE: Duration = "trioxide.client.datanode.silence", "2s", [CLIENT, S3G];
    /// Time after which a read without an answer is also sent to the next replica; the client uses
    /// the first answer.
    TRIOXIDE_CLIENT_HEDGE_AFTER: Duration = "trioxide.client.hedge.after", "100ms", [CLIENT, S3G];
    /// Maximum unacknowledged bytes of the writer of an erasure-coded key, not counting parity;
    /// four stripes are always allowed. The writer sends a PutBlock when half of them are pending,
    /// which costs two syncs on every replica: a larger value means fewer. A client needs as much
    /// memory, and rewrites as much data when a DataNode fails.
    TRIOXIDE_CLIENT_EC_STREAM_BUFFER_MAX_SIZE: ByteSize = "trioxide.client.ec.stream.buffer.max.size", "64MB", [CLIENT, S3G];
    /// Maximum number of open connections of a port. Above it, a new connection replaces one that
    /// has not sent anything yet, or is rejected.
    TRIOXIDE_SERVER_MAX_CONNECTIONS: u32 = "trioxide.server.max.connections", "10000", [OM, SCM, DATANODE, S3G];
    /// Maximum number of open connections of a port from one address (for IPv6, from one /64
    /// network).
    TRIOXIDE_SERVER_MAX_CONNECTIONS_PER_PEER: u32 = "trioxide.server.max.connections.per.peer", "4000", [OM, SCM, DATANODE, S3G];
    /// Timeout for a new connection to identify its protocol.
    TRIOXIDE_SERVER_HANDSHAKE_TIMEOUT: Duration = "trioxide.server.handshake.timeout", "10s", [OM, SCM, DATANODE, S3G];
    /// Time after which an idle connection is closed.
    TRIOXIDE_SERVER_IDLE_TIMEOUT: Duration = "trioxide.server.idle.timeout", "10m", [OM, SCM, DATANODE, S3G];
    /// Maximum time for which a peer may send nothing in the middle of a message or an object, or
    /// receive nothing of a response.
    TRIOXIDE_SERVER_STALL_TIMEOUT: Duration = "trioxide.server.stall.timeout", "30s", [OM, SCM, DATANODE, S3G];
    /// Memory of a process for data in flight: bodies of S3 requests, chunks between sockets and
    /// disks, log entries. Above it, sockets are not read. The caches of tables have settings of
    /// their own. All roles of a process share it, and the first to start sets it.
    TRIOXIDE_MEMORY_LIMIT: ByteSize = "trioxide.memory.limit", "192MB", [DATANODE, S3G];
    /// Ports of `o3 server` if no address is set: Ozone's, or random free ones (several servers on
    /// one host).
    TRIOXIDE_SERVER_PORTS: String = "trioxide.server.ports", "fixed", [COMMON], one of ["fixed", "free"];
    /// Storage types of the disks of each DataNode of `o3 server`, assigned in order and repeated:
    /// SSD,DISK,ARCHIVE; all DISK if unset.
    TRIOXIDE_SERVER_STORAGE_TYPES: StorageTypes = "trioxide.server.storage.types", "", [COMMON];
}
