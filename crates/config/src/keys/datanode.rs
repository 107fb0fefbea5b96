//! Keys the DataNode reads.

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::value::{ByteSize, HostPort};

keys! {
    /// The data directories, one per disk, separated by commas.
    HDDS_DATANODE_DIR: Vec<PathBuf> = "hdds.datanode.dir", "", [DATANODE];
    /// Where the file with the DataNode's id lies; ozone.metadata.dirs when unset.
    OZONE_SCM_DATANODE_ID_DIR: Option<PathBuf> = "ozone.scm.datanode.id.dir", "", [DATANODE];
    /// Where the Raft logs lie, one directory per disk; beside the data when unset.
    HDDS_CONTAINER_RATIS_DATANODE_STORAGE_DIR: Vec<PathBuf> = "hdds.container.ratis.datanode.storage.dir", "", [DATANODE];
    /// The name other machines reach this DataNode by; found out when unset.
    HDDS_DATANODE_HOSTNAME: String = "hdds.datanode.hostname", "", [DATANODE];
    /// The address the DataNode's doors are bound to.
    HDDS_DATANODE_BIND_HOST: String = "trioxide.datanode.bind.host", "0.0.0.0", [DATANODE];
    /// Port of the container protocol over gRPC (Ozone's STANDALONE port); 0 for any free one.
    HDDS_CONTAINER_IPC_PORT: u16 = "hdds.container.ipc.port", "9859", [DATANODE];
    /// Take any free port for the container protocol: several DataNodes on one host.
    HDDS_CONTAINER_IPC_RANDOM_PORT: bool = "hdds.container.ipc.random.port", "false", [DATANODE];
    /// Port of the framed protocol: container requests of our own clients, Raft messages, payload fetches; 0 for any free one.
    TRIOXIDE_DATANODE_PORT: u16 = "trioxide.datanode.port", "9870", [DATANODE];
    /// Port of Ratis' client protocol; 0 for any free one.
    HDDS_CONTAINER_RATIS_IPC_PORT: u16 = "hdds.container.ratis.ipc.port", "9858", [DATANODE];
    /// Take any free port for what the DataNodes of our own and Ratis' clients talk to: several DataNodes on one host.
    HDDS_CONTAINER_RATIS_IPC_RANDOM_PORT: bool = "hdds.container.ratis.ipc.random.port", "false", [DATANODE];
    /// Where the DataNode's status page and metrics are served.
    HDDS_DATANODE_HTTP_ADDRESS: HostPort = "hdds.datanode.http-address", "0.0.0.0:9882", [DATANODE];
    /// Serve the DataNode's status page and metrics.
    HDDS_DATANODE_HTTP_ENABLED: bool = "hdds.datanode.http.enabled", "true", [DATANODE];
    /// Space kept free on single disks: /dir1:100MB,/dir2:1GB.
    HDDS_DATANODE_DIR_DU_RESERVED: Vec<String> = "hdds.datanode.dir.du.reserved", "", [DATANODE];
    /// Share of every disk kept free, 0 to 1.
    HDDS_DATANODE_DIR_DU_RESERVED_PERCENT: f64 = "hdds.datanode.dir.du.reserved.percent", "0.0001", [DATANODE];
    /// Free space below which a disk takes no more writes.
    HDDS_DATANODE_VOLUME_MIN_FREE_SPACE: ByteSize = "hdds.datanode.volume.min.free.space", "100MB", [DATANODE];
    /// How a disk is chosen for a new container.
    HDDS_DATANODE_VOLUME_CHOOSING_POLICY: String = "hdds.datanode.volume.choosing.policy", "capacity", [DATANODE], one of ["capacity", "round-robin",
        "org.apache.hadoop.ozone.container.common.volume.CapacityVolumeChoosingPolicy", "org.apache.hadoop.ozone.container.common.volume.RoundRobinVolumeChoosingPolicy"];
    /// How often a DataNode reports its disks.
    HDDS_NODE_REPORT_INTERVAL: Duration = "hdds.node.report.interval", "60s", [DATANODE];
    /// How often a DataNode reports all its containers.
    HDDS_CONTAINER_REPORT_INTERVAL: Duration = "hdds.container.report.interval", "60m", [DATANODE];
    /// How often a DataNode reports all its pipelines; changes are reported at once.
    HDDS_PIPELINE_REPORT_INTERVAL: Duration = "hdds.pipeline.report.interval", "60s", [DATANODE];
    /// How long one heartbeat may take.
    OZONE_SCM_HEARTBEAT_RPC_TIMEOUT: Duration = "ozone.scm.heartbeat.rpc-timeout", "5s", [DATANODE];
    /// Memory for cached block records of all disks.
    HDDS_DATANODE_METADATA_ROCKSDB_CACHE_SIZE: ByteSize = "hdds.datanode.metadata.rocksdb.cache.size", "64MB", [DATANODE];
    /// Raft entries applied after which a pipeline's log is trimmed.
    HDDS_RATIS_SNAPSHOT_THRESHOLD: u64 = "hdds.ratis.snapshot.threshold", "100000", [DATANODE];
    /// The shortest time without a leader after which a member of a pipeline stands for election. Ozone's default is 5s.
    HDDS_RATIS_LEADER_ELECTION_MINIMUM_TIMEOUT_DURATION: Duration = "hdds.ratis.leader.election.minimum.timeout.duration", "1s", [DATANODE];
    /// How long a client's watch may take until it is told which members of the pipeline are behind.
    HDDS_RATIS_RAFT_SERVER_WATCH_TIMEOUT: Duration = "hdds.ratis.raft.server.watch.timeout", "30s", [DATANODE];
    /// Bytes of requests a pipeline's leader holds before it answers that it is busy.
    HDDS_CONTAINER_RATIS_LEADER_PENDING_BYTES_LIMIT: ByteSize = "hdds.container.ratis.leader.pending.bytes.limit", "256MB", [DATANODE];
    /// Verify the checksums of chunks as they are written.
    HDDS_DATANODE_CHUNK_DATA_VALIDATION_CHECK: bool = "hdds.datanode.chunk.data.validation.check", "false", [DATANODE];
    /// Write chunks so that they are on disk when answered, not only at PutBlock.
    HDDS_CONTAINER_CHUNK_WRITE_SYNC: bool = "hdds.container.chunk.write.sync", "false", [DATANODE];
    /// Containers a DataNode copies to others at a time. More that SCM asks for wait.
    HDDS_DATANODE_REPLICATION_STREAMS_LIMIT: u32 = "hdds.datanode.replication.streams.limit", "10", [DATANODE];
    /// The most copies of containers that wait on a DataNode; more are refused, and SCM asks again later.
    HDDS_DATANODE_REPLICATION_QUEUE_LIMIT: u32 = "hdds.datanode.replication.queue.limit", "4096", [DATANODE];
    /// What a DataNode that leaves the service copies at a time, as a multiple of the limit.
    HDDS_DATANODE_REPLICATION_OUTOFSERVICE_LIMIT_FACTOR: f64 = "hdds.datanode.replication.outofservice.limit.factor", "2.0", [SCM, DATANODE];
    /// Bytes per second that a DataNode sends when it copies containers to others, all copies together; 0 for no limit.
    TRIOXIDE_DATANODE_REPLICATION_BANDWIDTH: ByteSize = "trioxide.datanode.replication.bandwidth", "0B", [DATANODE];
}
