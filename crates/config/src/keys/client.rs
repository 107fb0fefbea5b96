//! Keys clients read.

use std::time::Duration;

use crate::declare::keys;
use crate::value::ByteSize;

keys! {
    /// Timeout for a client to connect to a server.
    OZONE_CLIENT_CONNECTION_TIMEOUT: Duration = "ozone.client.connection.timeout", "5s", [CLIENT];
    /// Timeout of a client's request to OM.
    OZONE_OM_CLIENT_RPC_TIMEOUT: Duration = "ozone.om.client.rpc.timeout", "15m", [CLIENT];
    /// Maximum pause between two attempts of a client's request to OM, in milliseconds; the first
    /// pauses are shorter.
    OZONE_CLIENT_WAIT_BETWEEN_RETRIES_MILLIS: u64 = "ozone.client.wait.between.retries.millis", "2000", [CLIENT];
    /// Read metadata from any OM of a service instead of only from its leader.
    OZONE_CLIENT_FOLLOWER_READ_ENABLED: bool = "ozone.client.follower.read.enabled", "false", [CLIENT, S3G];
    /// Consistency of reads from an OM that is not the leader. LINEARIZABLE_ALLOW_FOLLOWER returns
    /// every acknowledged write of every client: the OM first asks its leader for the commit index.
    /// LOCAL_LEASE returns the OM's local state, which may lag by as much as OM and client allow. A
    /// client always sees its own writes.
    OZONE_CLIENT_FOLLOWER_READ_DEFAULT_CONSISTENCY: String = "ozone.client.follower.read.default.consistency", "LINEARIZABLE_ALLOW_FOLLOWER", [CLIENT, S3G], one of ["LINEARIZABLE_ALLOW_FOLLOWER", "LOCAL_LEASE"];
    /// Replication of keys that this client writes, also through the S3 gateway, unless a command
    /// or request sets one: ONE, THREE, rs-6-3-1024k. If empty, that of the bucket.
    OZONE_REPLICATION: String = "ozone.replication", "", [CLIENT, S3G];
    /// Replication type of ozone.replication.
    OZONE_REPLICATION_TYPE: String = "ozone.replication.type", "RATIS", [CLIENT, S3G], one of ["RATIS", "STAND_ALONE", "EC"];
    /// Maximum number of retries of a failed write, each on another pipeline.
    OZONE_CLIENT_MAX_RETRIES: u32 = "ozone.client.max.retries", "5", [CLIENT];
    /// Maximum number of retries of a failed stripe of an erasure-coded key, each on a block group
    /// on other DataNodes.
    OZONE_CLIENT_MAX_EC_STRIPE_WRITE_RETRIES: u32 = "ozone.client.max.ec.stripe.write.retries", "10", [CLIENT, S3G];
    /// Maximum number of retries of a read after all replicas failed.
    OZONE_CLIENT_READ_MAX_RETRIES: u32 = "ozone.client.read.max.retries", "3", [CLIENT];
    /// Maximum pause before such a retry, in seconds; the first retries come sooner.
    OZONE_CLIENT_READ_RETRY_INTERVAL: u64 = "ozone.client.read.retry.interval", "1", [CLIENT];
    /// Timeout of a client's read from a DataNode.
    OZONE_CLIENT_READ_TIMEOUT: Duration = "ozone.client.read.timeout", "30s", [CLIENT];
    /// Timeout of a client's write to a DataNode.
    HDDS_RATIS_RAFT_CLIENT_RPC_REQUEST_TIMEOUT: Duration = "hdds.ratis.raft.client.rpc.request.timeout", "60s", [CLIENT];
    /// Checksum type of written chunks.
    OZONE_CLIENT_CHECKSUM_TYPE: String = "ozone.client.checksum.type", "CRC32", [CLIENT], one of ["NONE", "CRC32", "CRC32C", "SHA256", "MD5"];
    /// Number of bytes covered by one checksum.
    OZONE_CLIENT_BYTES_PER_CHECKSUM: ByteSize = "ozone.client.bytes.per.checksum", "16KB", [CLIENT];
    /// Verify the checksums of data on read.
    OZONE_CLIENT_VERIFY_CHECKSUM: bool = "ozone.client.verify.checksum", "true", [CLIENT];
    /// Buffer size of a client's output stream: the size of the chunks it writes.
    OZONE_CLIENT_STREAM_BUFFER_SIZE: ByteSize = "ozone.client.stream.buffer.size", "4MB", [CLIENT];
    /// Maximum unacknowledged bytes of a client's output stream to replicated blocks. For
    /// erasure-coded keys see `trioxide.client.ec.stream.buffer.max.size`.
    OZONE_CLIENT_STREAM_BUFFER_MAX_SIZE: ByteSize = "ozone.client.stream.buffer.max.size", "32MB", [CLIENT];
    /// Time for which a client avoids a DataNode that failed.
    OZONE_CLIENT_EXCLUDE_NODES_EXPIRY_TIME: Duration = "ozone.client.exclude.nodes.expiry.time", "10m", [CLIENT];
    /// Number of entries per page of a listing.
    OZONE_CLIENT_LIST_CACHE: u32 = "ozone.client.list.cache", "1000", [CLIENT];
    /// Read from the nearest replica first.
    OZONE_NETWORK_TOPOLOGY_AWARE_READ: bool = "ozone.network.topology.aware.read", "true", [CLIENT, OM];
}
