//! Keys clients read.

use std::time::Duration;

use crate::declare::keys;
use crate::value::ByteSize;

keys! {
    /// How long a client waits for a connection.
    OZONE_CLIENT_CONNECTION_TIMEOUT: Duration = "ozone.client.connection.timeout", "5s", [CLIENT];
    /// How long a client waits for OM's answer.
    OZONE_OM_CLIENT_RPC_TIMEOUT: Duration = "ozone.om.client.rpc.timeout", "15m", [CLIENT];
    /// Milliseconds between two such attempts.
    OZONE_CLIENT_WAIT_BETWEEN_RETRIES_MILLIS: u64 = "ozone.client.wait.between.retries.millis", "2000", [CLIENT];
    /// Read from any OM of a service, not from its leader only.
    OZONE_CLIENT_FOLLOWER_READ_ENABLED: bool = "ozone.client.follower.read.enabled", "false", [CLIENT, S3G];
    /// What such a read shows: every acknowledged write of every client (the OM asks its
    /// leader), or what the OM has, which may be behind by as much as OM and client allow. Own
    /// writes are seen either way.
    OZONE_CLIENT_FOLLOWER_READ_DEFAULT_CONSISTENCY: String = "ozone.client.follower.read.default.consistency", "LINEARIZABLE_ALLOW_FOLLOWER", [CLIENT, S3G], one of ["LINEARIZABLE_ALLOW_FOLLOWER", "LOCAL_LEASE"];
    /// Replication of keys that this client writes, also through the S3 gateway, when a command or
    /// request does not say one: ONE, THREE, rs-6-3-1024k. The bucket's when empty.
    OZONE_REPLICATION: String = "ozone.replication", "", [CLIENT, S3G];
    /// What kind of replication that is.
    OZONE_REPLICATION_TYPE: String = "ozone.replication.type", "RATIS", [CLIENT, S3G], one of ["RATIS", "STAND_ALONE", "EC"];
    /// How often a failed write is tried again, each time on another pipeline.
    OZONE_CLIENT_MAX_RETRIES: u32 = "ozone.client.max.retries", "5", [CLIENT];
    /// How often a failed stripe of an erasure-coded key is written again, each time to a block
    /// group on other DataNodes.
    OZONE_CLIENT_MAX_EC_STRIPE_WRITE_RETRIES: u32 = "ozone.client.max.ec.stripe.write.retries", "10", [CLIENT, S3G];
    /// How often a failed read is tried again after all replicas failed.
    OZONE_CLIENT_READ_MAX_RETRIES: u32 = "ozone.client.read.max.retries", "3", [CLIENT];
    /// Seconds until such a read is tried again, at most; the first attempts come sooner.
    OZONE_CLIENT_READ_RETRY_INTERVAL: u64 = "ozone.client.read.retry.interval", "1", [CLIENT];
    /// How long a DataNode may take to answer a read.
    OZONE_CLIENT_READ_TIMEOUT: Duration = "ozone.client.read.timeout", "30s", [CLIENT];
    /// How long a DataNode may take to answer a write.
    HDDS_RATIS_RAFT_CLIENT_RPC_REQUEST_TIMEOUT: Duration = "hdds.ratis.raft.client.rpc.request.timeout", "60s", [CLIENT];
    /// Checksum of the chunks written.
    OZONE_CLIENT_CHECKSUM_TYPE: String = "ozone.client.checksum.type", "CRC32", [CLIENT], one of ["NONE", "CRC32", "CRC32C", "SHA256", "MD5"];
    /// Bytes covered by one checksum.
    OZONE_CLIENT_BYTES_PER_CHECKSUM: ByteSize = "ozone.client.bytes.per.checksum", "16KB", [CLIENT];
    /// Verify checksums of what is read.
    OZONE_CLIENT_VERIFY_CHECKSUM: bool = "ozone.client.verify.checksum", "true", [CLIENT];
    /// Size of the pieces a client's output stream is cut into.
    OZONE_CLIENT_STREAM_BUFFER_SIZE: ByteSize = "ozone.client.stream.buffer.size", "4MB", [CLIENT];
    /// Bytes a client's output stream to replicated blocks may hold unacknowledged. For
    /// erasure-coded keys see `trioxide.client.ec.stream.buffer.max.size`.
    OZONE_CLIENT_STREAM_BUFFER_MAX_SIZE: ByteSize = "ozone.client.stream.buffer.max.size", "32MB", [CLIENT];
    /// How long a DataNode that failed is avoided.
    OZONE_CLIENT_EXCLUDE_NODES_EXPIRY_TIME: Duration = "ozone.client.exclude.nodes.expiry.time", "10m", [CLIENT];
    /// Entries per page when listing.
    OZONE_CLIENT_LIST_CACHE: u32 = "ozone.client.list.cache", "1000", [CLIENT];
    /// Read from the nearest replica first.
    OZONE_NETWORK_TOPOLOGY_AWARE_READ: bool = "ozone.network.topology.aware.read", "true", [CLIENT, OM];
}
