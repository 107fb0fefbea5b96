//! Keys Ozone does not have.

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::value::{ByteSize, StorageTypes};

keys! {
    /// What a key that is unknown or has no effect does: warn, stop the start, or nothing. Unknown
    /// keys count that begin with ozone., hdds., trioxide., net.topology., hadoop., dfs., ssl. or
    /// ipc. and do not stand in core-site.xml or hdfs-site.xml.
    TRIOXIDE_CONFIG_UNKNOWN_KEYS: String = "trioxide.config.unknown.keys", "warn", [COMMON], one of ["ignore", "warn", "error"];
    /// What is logged, in the syntax of tracing's filters: warn,om=debug.
    TRIOXIDE_LOG_FILTER: String = "trioxide.log.filter", "info,raft_engine=warn,s3s=off", [COMMON];
    /// How log lines look: text for people, json for machines.
    TRIOXIDE_LOG_FORMAT: String = "trioxide.log.format", "text", [COMMON], one of ["text", "json"];
    /// A request that takes as long is logged, with its stages and how long each took; 0 for none.
    /// DataNodes have hdds.datanode.slow.op.warning.threshold.
    TRIOXIDE_SLOW_REQUEST_THRESHOLD: Duration = "trioxide.slow.request.threshold", "1s", [OM, SCM];
    /// The same for the S3 gateway, whose requests last as long as their objects take.
    TRIOXIDE_S3G_SLOW_REQUEST_THRESHOLD: Duration = "trioxide.s3g.slow.request.threshold", "10s", [S3G];
    /// Minimum rate of a request's body at the S3 gateway, bytes per second. A client that is
    /// behind it by more than trioxide.server.stall.timeout, or by 5 seconds while other uploads
    /// wait for memory (trioxide.memory.limit), is cut off with RequestTimeout. 0 for no minimum.
    TRIOXIDE_S3G_MINIMUM_UPLOAD_RATE: ByteSize = "trioxide.s3g.minimum.upload.rate", "8KB", [S3G];
    /// Directory of the audit logs of OM and DataNode; with the role's metadata when unset.
    TRIOXIDE_AUDIT_DIR: Option<PathBuf> = "trioxide.audit.dir", "", [OM, DATANODE];
    /// Write the audit logs: OM's of all requests, the DataNode's of reconstructions.
    TRIOXIDE_AUDIT_ENABLED: bool = "trioxide.audit.enabled", "true", [OM, DATANODE];
    /// Also write reads to the audit log; Ozone's own settings leave them out.
    TRIOXIDE_AUDIT_READS: bool = "trioxide.audit.reads", "false", [OM];
    /// Size at which the audit log is rotated.
    TRIOXIDE_AUDIT_FILE_SIZE: ByteSize = "trioxide.audit.file.size", "256MB", [OM, DATANODE];
    /// How often buffered audit lines reach the file.
    TRIOXIDE_AUDIT_FLUSH_INTERVAL: Duration = "trioxide.audit.flush.interval", "200ms", [OM, DATANODE];
    /// How long a role has to stop once asked.
    TRIOXIDE_SHUTDOWN_TIMEOUT: Duration = "trioxide.shutdown.timeout", "10s", [COMMON];
    /// Memory for cached blocks of OM's tables.
    TRIOXIDE_OM_CACHE_SIZE: ByteSize = "trioxide.om.cache.size", "1GB", [OM];
    /// Memory for directories of FILE_SYSTEM_OPTIMIZED buckets that OM keeps decoded.
    TRIOXIDE_OM_DIRECTORY_CACHE_SIZE: ByteSize = "trioxide.om.directory.cache.size", "128MB", [OM];
    /// Reads of clients that OM works on at once; the others wait (keys that begin with ipc).
    TRIOXIDE_OM_LIMIT_READS: u32 = "trioxide.om.limit.reads", "1024", [OM];
    /// Writes of clients that OM works on at once. They share syncs of the log; what is far above
    /// the number that fills one only makes those wait that come later.
    TRIOXIDE_OM_LIMIT_WRITES: u32 = "trioxide.om.limit.writes", "512", [OM];
    /// Long lists that OM works on at once, each on a thread of its own; 0 for as many as there are
    /// processors.
    TRIOXIDE_OM_LIMIT_LISTS: u32 = "trioxide.om.limit.lists", "0", [OM];
    /// Requests of each of these kinds that may wait.
    TRIOXIDE_OM_LIMIT_WAITING: u32 = "trioxide.om.limit.waiting", "8192", [OM];
    /// Writes of OM's own background services that are under way at once.
    TRIOXIDE_OM_LIMIT_BACKGROUND: u32 = "trioxide.om.limit.background", "4", [OM];
    /// Which part of the time, in percent, the writes of a background service take at most while
    /// there are requests of clients.
    TRIOXIDE_OM_BACKGROUND_SHARE: u32 = "trioxide.om.background.share", "25", [OM];
    /// How long an SCM that hears nothing of its leader waits before it asks for votes (up to twice
    /// as long, by chance).
    TRIOXIDE_SCM_ELECTION_TIMEOUT: Duration = "trioxide.scm.election.timeout", "1s", [SCM];
    /// Memory for cached blocks of SCM's tables.
    TRIOXIDE_SCM_CACHE_SIZE: ByteSize = "trioxide.scm.cache.size", "64MB", [SCM];
    /// How long an OM that hears nothing of its leader waits before it asks for votes (up to twice
    /// as long, by chance). A third of it is the time a leader answers reads without asking the
    /// others: over so long no two clocks may differ in speed by more than half.
    TRIOXIDE_OM_ELECTION_TIMEOUT: Duration = "trioxide.om.election.timeout", "1s", [OM];
    /// Bytes per second at which a leader sends its tables to an OM that was away for too long; 0
    /// for as fast as it goes.
    TRIOXIDE_OM_SNAPSHOT_RATE: ByteSize = "trioxide.om.snapshot.rate", "200MB", [OM];
    /// Bytes per second at which OM sends a copy of its tables over HTTP (/dbCheckpoint, as Recon
    /// takes one); 0 for as fast as it goes.
    TRIOXIDE_OM_CHECKPOINT_RATE: ByteSize = "trioxide.om.checkpoint.rate", "100MB", [OM];
    /// Memory for rows that were written lately, which Recon asks for after it has taken a copy.
    /// Nothing is kept while nobody asks. When it is too small for what is written between two
    /// questions, Recon takes a new copy.
    TRIOXIDE_OM_UPDATES_MEMORY: ByteSize = "trioxide.om.updates.memory", "64MB", [OM];
    /// How often a client that reads from any OM asks each how far it is and how long it takes to
    /// answer.
    TRIOXIDE_CLIENT_OM_PROBE_INTERVAL: Duration = "trioxide.client.om.probe.interval", "3s", [CLIENT, S3G];
    /// Log entries by which an OM may be behind the most advanced one for such a client to read
    /// from it.
    TRIOXIDE_CLIENT_OM_MAX_LAG: u64 = "trioxide.client.om.max.lag", "10000", [CLIENT, S3G];
    /// How often OM asks an SCM which SCMs belong to the service: one may have come or gone.
    TRIOXIDE_OM_SCM_REFRESH_INTERVAL: Duration = "trioxide.om.scm.refresh.interval", "10s", [OM];
    /// Blocks OM holds ready per replication, so that creating a key needs no call to SCM.
    TRIOXIDE_OM_BLOCK_POOL_SIZE: u32 = "trioxide.om.block.pool.size", "1000", [OM];
    /// Age at which blocks held ready are dropped.
    TRIOXIDE_OM_BLOCK_POOL_AGE: Duration = "trioxide.om.block.pool.age", "1m", [OM];
    /// Blocks up to this size travel with their record in one request and are packed into segment
    /// files.
    TRIOXIDE_SMALL_BLOCK_SIZE: ByteSize = "trioxide.small.block.size", "128KB", [CLIENT, DATANODE, S3G];
    /// How disks are written: by threads, which is also what auto chooses.
    TRIOXIDE_DATANODE_IO: String = "trioxide.datanode.io", "auto", [DATANODE], one of ["auto", "threads"];
    /// How long a client's metadata request may take altogether, fail-over and retries included.
    TRIOXIDE_CLIENT_DEADLINE: Duration = "trioxide.client.deadline", "60s", [CLIENT, S3G];
    /// A DataNode that owes an answer to a write and gives no sign of life for so long, though
    /// asked, hangs: the data is written elsewhere. How long the write itself may take is another
    /// matter.
    TRIOXIDE_CLIENT_DATANODE_SILENCE: Duration = "trioxide.client.datanode.silence", "2s", [CLIENT, S3G];
    /// A read not answered by then is asked of the next replica too; the first answer counts.
    TRIOXIDE_CLIENT_HEDGE_AFTER: Duration = "trioxide.client.hedge.after", "100ms", [CLIENT, S3G];
    /// Bytes of an erasure-coded key that its writer may hold unacknowledged. Their parity comes on
    /// top, and four stripes are always allowed. A PutBlock is sent when half of them wait, and
    /// costs two syncs on every replica: the larger this is, the fewer there are. A client needs as
    /// much memory, and writes so much once more when a DataNode fails.
    TRIOXIDE_CLIENT_EC_STREAM_BUFFER_MAX_SIZE: ByteSize = "trioxide.client.ec.stream.buffer.max.size", "64MB", [CLIENT, S3G];
    /// Connections that one port has open at once. A new one on top takes the place of one that has
    /// not said anything yet, or is refused.
    TRIOXIDE_SERVER_MAX_CONNECTIONS: u32 = "trioxide.server.max.connections", "10000", [OM, SCM, DATANODE, S3G];
    /// Connections that one port has open at once from one address (for IPv6, from one /64
    /// network).
    TRIOXIDE_SERVER_MAX_CONNECTIONS_PER_PEER: u32 = "trioxide.server.max.connections.per.peer", "4000", [OM, SCM, DATANODE, S3G];
    /// How long a new connection may take until it has said which protocol it speaks.
    TRIOXIDE_SERVER_HANDSHAKE_TIMEOUT: Duration = "trioxide.server.handshake.timeout", "10s", [OM, SCM, DATANODE, S3G];
    /// How long a connection is kept on which nothing is under way.
    TRIOXIDE_SERVER_IDLE_TIMEOUT: Duration = "trioxide.server.idle.timeout", "10m", [OM, SCM, DATANODE, S3G];
    /// How long a peer may send nothing in the middle of a message or of an object, or take nothing
    /// of an answer.
    TRIOXIDE_SERVER_STALL_TIMEOUT: Duration = "trioxide.server.stall.timeout", "30s", [OM, SCM, DATANODE, S3G];
    /// Memory of a process for data in flight: bodies of S3 requests, chunks on their way to and
    /// from disks, log entries. Beyond it nothing more is read from sockets. What tables cache has
    /// settings of its own. All roles of a process share it, and the first to start sets it.
    TRIOXIDE_MEMORY_LIMIT: ByteSize = "trioxide.memory.limit", "192MB", [DATANODE, S3G];
    /// Ports of `o3 server` where no address is set: Ozone's, or any free ones (several servers on
    /// one host).
    TRIOXIDE_SERVER_PORTS: String = "trioxide.server.ports", "fixed", [COMMON], one of ["fixed", "free"];
    /// Storage types of the disks of each DataNode of `o3 server`, one after the other and from the
    /// start again: SSD,DISK,ARCHIVE; all DISK when unset.
    TRIOXIDE_SERVER_STORAGE_TYPES: StorageTypes = "trioxide.server.storage.types", "", [COMMON];
}
