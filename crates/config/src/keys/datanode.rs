//! Keys the DataNode reads.

// `[SSD]` in the text of a key is a storage type, not a link.
#![allow(rustdoc::broken_intra_doc_links)]

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::permissions::DirPermissions;
use crate::value::{ByteSize, DataDir, HostPort};

keys! {
    /// The data directories, one per disk, separated by commas; the storage type of one that is not
    /// DISK comes before it: [SSD]/path, [ARCHIVE]/path.
    HDDS_DATANODE_DIR: Vec<DataDir> = "hdds.datanode.dir", "", [DATANODE];
    /// Permissions of what a DataNode keeps data in: hdds within each directory of
    /// hdds.datanode.dir, those of Raft logs and those of trioxide.datanode.cache.dirs; also of
    /// directories that are there already. Octal or symbolic, 700 or rwx------.
    HDDS_DATANODE_DATA_DIR_PERMISSIONS: DirPermissions = "hdds.datanode.data.dir.permissions", "700", [DATANODE];
    /// Where the file with the DataNode's id lies; ozone.metadata.dirs when unset.
    OZONE_SCM_DATANODE_ID_DIR: Option<PathBuf> = "ozone.scm.datanode.id.dir", "", [DATANODE];
    /// Where the Raft logs lie, one directory per disk; beside the data when unset.
    HDDS_CONTAINER_RATIS_DATANODE_STORAGE_DIR: Vec<PathBuf> = "hdds.container.ratis.datanode.storage.dir", "", [DATANODE];
    /// The name other machines reach this DataNode by; found out when unset.
    HDDS_DATANODE_HOSTNAME: String = "hdds.datanode.hostname", "", [DATANODE];
    /// The address the DataNode's ports are bound to.
    HDDS_DATANODE_BIND_HOST: String = "trioxide.datanode.bind.host", "0.0.0.0", [DATANODE];
    /// Port of the container protocol over gRPC (Ozone's STANDALONE port); 0 for any free one.
    HDDS_CONTAINER_IPC_PORT: u16 = "hdds.container.ipc.port", "9859", [DATANODE];
    /// Take any free port for the container protocol: several DataNodes on one host.
    HDDS_CONTAINER_IPC_RANDOM_PORT: bool = "hdds.container.ipc.random.port", "false", [DATANODE];
    /// Port of the framed protocol: container requests of our own clients, Raft messages, payload
    /// fetches; 0 for any free one.
    TRIOXIDE_DATANODE_PORT: u16 = "trioxide.datanode.port", "9870", [DATANODE];
    /// Port of Ratis' client protocol; 0 for any free one.
    HDDS_CONTAINER_RATIS_IPC_PORT: u16 = "hdds.container.ratis.ipc.port", "9858", [DATANODE];
    /// Take any free port for what the DataNodes of our own and Ratis' clients talk to: several
    /// DataNodes on one host.
    HDDS_CONTAINER_RATIS_IPC_RANDOM_PORT: bool = "hdds.container.ratis.ipc.random.port", "false", [DATANODE];
    /// Where the DataNode's status page and metrics are served; the host is
    /// trioxide.datanode.bind.host when unset.
    HDDS_DATANODE_HTTP_ADDRESS: HostPort = "hdds.datanode.http-address", "0.0.0.0:9882", [DATANODE];
    /// The address the DataNode binds its web port to, when not that of hdds.datanode.http-address.
    /// Ozone's default is 0.0.0.0.
    HDDS_DATANODE_HTTP_BIND_HOST: String = "hdds.datanode.http-bind-host", "", [DATANODE];
    /// Serve the DataNode's status page and metrics.
    HDDS_DATANODE_HTTP_ENABLED: bool = "hdds.datanode.http.enabled", "true", [DATANODE];
    /// Port of Hadoop RPC, by which ozone admin datanode diskbalancer reaches this DataNode; 0 for
    /// any free one. Unset, any free one is taken when this one is in use or the other ports are
    /// random; SCM knows it.
    HDDS_DATANODE_CLIENT_PORT: u16 = "hdds.datanode.client.port", "19864", [DATANODE, CLIENT];
    /// Host and port of Hadoop RPC, in the place of hdds.datanode.client.port.
    HDDS_DATANODE_CLIENT_ADDRESS: Option<HostPort> = "hdds.datanode.client.address", "", [DATANODE];
    /// The address that Hadoop RPC is bound to; trioxide.datanode.bind.host when unset. Ozone's
    /// default is 0.0.0.0.
    HDDS_DATANODE_CLIENT_BIND_HOST: String = "hdds.datanode.client.bind.host", "", [DATANODE];
    /// Have the disks of a DataNode balanced on the word of ozone admin datanode diskbalancer.
    /// Without it the commands are refused.
    HDDS_DATANODE_DISK_BALANCER_ENABLED: bool = "hdds.datanode.disk.balancer.enabled", "true", [DATANODE, CLIENT];
    /// Whether the disks are balanced before anybody has started or stopped it.
    HDDS_DATANODE_DISK_BALANCER_SHOULD_RUN_DEFAULT: bool = "hdds.datanode.disk.balancer.should.run.default", "false", [DATANODE];
    /// Where the file diskBalancer.info lies, which keeps over a restart whether disks are balanced
    /// and how; the directory of metadata when unset.
    HDDS_DATANODE_DISK_BALANCER_INFO_DIR: Option<PathBuf> = "hdds.datanode.disk.balancer.info.dir", "", [DATANODE];
    /// How often a DataNode looks whether there is something to balance; while there is, it goes on
    /// at once.
    HDDS_DATANODE_DISK_BALANCER_SERVICE_INTERVAL: Duration = "hdds.datanode.disk.balancer.service.interval", "60s", [DATANODE];
    /// Moves that take longer are logged.
    HDDS_DATANODE_DISK_BALANCER_SERVICE_TIMEOUT: Duration = "hdds.datanode.disk.balancer.service.timeout", "300s", [DATANODE];
    /// Percent by which a disk's use may differ from that of all disks of its DataNode, between 0
    /// and 100; until start or update says otherwise.
    HDDS_DATANODE_DISK_BALANCER_VOLUME_DENSITY_THRESHOLD_PERCENT: f64 = "hdds.datanode.disk.balancer.volume.density.threshold.percent", "10", [DATANODE];
    /// Megabytes a second that are moved at most, all moves of a DataNode together; until start
    /// or update says otherwise.
    HDDS_DATANODE_DISK_BALANCER_MAX_DISK_THROUGHPUT: u64 = "hdds.datanode.disk.balancer.max.disk.throughputInMBPerSec", "10", [DATANODE];
    /// Containers that a DataNode moves at a time; until start or update says otherwise.
    HDDS_DATANODE_DISK_BALANCER_PARALLEL_THREAD: i32 = "hdds.datanode.disk.balancer.parallel.thread", "5", [DATANODE];
    /// Stop when the disks are even, or nothing can be moved; until start or update says
    /// otherwise.
    HDDS_DATANODE_DISK_BALANCER_STOP_AFTER_DISK_EVEN: bool = "hdds.datanode.disk.balancer.stop.after.disk.even", "true", [DATANODE];
    /// How long what a moved container leaves on its last disk stays, for reads that have begun.
    HDDS_DATANODE_DISK_BALANCER_REPLICA_DELETION_DELAY: Duration = "hdds.datanode.disk.balancer.replica.deletion.delay", "5m", [DATANODE];
    /// States of containers that are moved, CLOSED and QUASI_CLOSED; until start or update says
    /// otherwise.
    HDDS_DATANODE_DISK_BALANCER_CONTAINER_STATES: Vec<String> = "hdds.datanode.disk.balancer.container.states", "CLOSED,QUASI_CLOSED", [DATANODE];
    /// How containers and disks are chosen.
    HDDS_DATANODE_DISK_BALANCER_CONTAINER_CHOOSING_POLICY: String = "hdds.datanode.disk.balancer.container.choosing.policy", "org.apache.hadoop.ozone.container.diskbalancer.policy.DefaultContainerChoosingPolicy", [DATANODE], one of ["org.apache.hadoop.ozone.container.diskbalancer.policy.DefaultContainerChoosingPolicy", "DefaultContainerChoosingPolicy"];
    /// Space that is for others on single disks, /dir1:100MB,/dir2:1GB; what they use already is a
    /// part of it.
    HDDS_DATANODE_DIR_DU_RESERVED: Vec<String> = "hdds.datanode.dir.du.reserved", "", [DATANODE];
    /// Share of every disk that is for others, 0 to 1.
    HDDS_DATANODE_DIR_DU_RESERVED_PERCENT: f64 = "hdds.datanode.dir.du.reserved.percent", "0.0001", [DATANODE];
    /// Free space below which a disk takes no more writes.
    HDDS_DATANODE_VOLUME_MIN_FREE_SPACE: ByteSize = "hdds.datanode.volume.min.free.space", "100MB", [DATANODE];
    /// Share of a disk below which it gets no more containers, 0 to 1, when that is more than
    /// hdds.datanode.volume.min.free.space; SCM knows it. Ozone's default is 0.02.
    HDDS_DATANODE_VOLUME_MIN_FREE_SPACE_PERCENT: f64 = "hdds.datanode.volume.min.free.space.percent", "0", [DATANODE];
    /// Share of a disk below which it takes no more writes, 0 to 1, when that is more than
    /// hdds.datanode.volume.min.free.space. Ozone's default is 0.015.
    HDDS_DATANODE_VOLUME_MIN_FREE_SPACE_HARD_LIMIT_PERCENT: f64 = "hdds.datanode.volume.min.free.space.hard.limit.percent", "0", [DATANODE];
    /// Files of its tables that a disk keeps open at most, 0 or less for no such bound. There are
    /// never more than a sixth of the files that the process may have open, over all disks.
    HDDS_DATANODE_ROCKSDB_MAX_OPEN_FILES: i64 = "hdds.datanode.rocksdb.max-open-files", "1024", [DATANODE];
    /// How a disk is chosen for a new container.
    HDDS_DATANODE_VOLUME_CHOOSING_POLICY: String = "hdds.datanode.volume.choosing.policy", "capacity", [DATANODE], one of ["capacity", "round-robin",
        "org.apache.hadoop.ozone.container.common.volume.CapacityVolumeChoosingPolicy", "org.apache.hadoop.ozone.container.common.volume.RoundRobinVolumeChoosingPolicy"];
    /// How often all data and Raft log directories are checked, in minutes.
    HDDS_DATANODE_PERIODIC_DISK_CHECK_INTERVAL_MINUTES: u64 = "hdds.datanode.periodic.disk.check.interval.minutes", "60", [DATANODE];
    /// The least time between two checks of a directory: one that errors is checked at once, but
    /// not more often.
    HDDS_DATANODE_DISK_CHECK_MIN_GAP: Duration = "hdds.datanode.disk.check.min.gap", "10m", [DATANODE];
    /// A directory whose check takes longer has failed. One that takes longer to open at start is
    /// left out.
    HDDS_DATANODE_DISK_CHECK_TIMEOUT: Duration = "hdds.datanode.disk.check.timeout", "10m", [DATANODE];
    /// How many of the last tests of a directory count; 0 does without writing and reading.
    HDDS_DATANODE_DISK_CHECK_IO_TEST_COUNT: usize = "hdds.datanode.disk.check.io.test.count", "3", [DATANODE];
    /// How many of the last tests of a directory may fail. A test also fails when the device
    /// refused reads of files since the last one. An fsync that fails is final, and so is a
    /// directory that is gone.
    HDDS_DATANODE_DISK_CHECK_IO_FAILURES_TOLERATED: usize = "hdds.datanode.disk.check.io.failures.tolerated", "1", [DATANODE];
    /// Size of the file that a test writes, syncs and reads back.
    HDDS_DATANODE_DISK_CHECK_IO_FILE_SIZE: ByteSize = "hdds.datanode.disk.check.io.file.size", "100B", [DATANODE];
    /// Scan containers for damage: all of them in the background, and one at once when a read found
    /// something wrong with it.
    HDDS_CONTAINER_SCRUB_ENABLED: bool = "hdds.container.scrub.enabled", "true", [DATANODE];
    /// How often a DataNode looks for replicas that were begun to be rebuilt, and left.
    HDDS_DATANODE_RECOVERING_CONTAINER_SCRUBBING_SERVICE_INTERVAL: Duration = "hdds.datanode.recovering.container.scrubbing.service.interval", "1m", [DATANODE];
    /// A replica that was begun to be rebuilt by Ozone's protocol is removed when it is not
    /// finished after so long.
    OZONE_RECOVERING_CONTAINER_TIMEOUT: Duration = "ozone.recovering.container.timeout", "20m", [DATANODE];
    /// How often a DataNode checks what its containers are made of: folders, .container files, sums
    /// and segment files, but not the bytes of blocks.
    HDDS_CONTAINER_SCRUB_METADATA_SCAN_INTERVAL: Duration = "hdds.container.scrub.metadata.scan.interval", "3h", [DATANODE];
    /// How often every closed container is read as a whole and compared with its checksums. One
    /// disk takes longer when it holds more than its rate allows for in this time.
    HDDS_CONTAINER_SCRUB_DATA_SCAN_INTERVAL: Duration = "hdds.container.scrub.data.scan.interval", "7d", [DATANODE];
    /// Bytes per second that the scan of all closed containers reads of each disk, at least 4KB. It
    /// goes down to a tenth while others wait for the disk.
    HDDS_CONTAINER_SCRUB_VOLUME_BYTES_PER_SECOND: ByteSize = "hdds.container.scrub.volume.bytes.per.second", "5MB", [DATANODE];
    /// Bytes per second that are read of containers with which a read found something wrong, at
    /// least 4KB.
    HDDS_CONTAINER_SCRUB_ON_DEMAND_VOLUME_BYTES_PER_SECOND: ByteSize = "hdds.container.scrub.on.demand.volume.bytes.per.second", "5MB", [DATANODE];
    /// Hours of the DataNode's local time in which both rates are multiplied by
    /// hdds.container.scrub.off-peak.ratio: 1,2,3 or 22-5, first and last hour included.
    HDDS_CONTAINER_SCRUB_OFF_PEAK_HOUR: Vec<String> = "hdds.container.scrub.off-peak.hour", "", [DATANODE];
    /// What the rates of scans are multiplied by in the hours of
    /// hdds.container.scrub.off-peak.hour; more than 0.
    HDDS_CONTAINER_SCRUB_OFF_PEAK_RATIO: f64 = "hdds.container.scrub.off-peak.ratio", "1", [DATANODE];
    /// The least time between two scans of a container. What was read as a whole so lately is left
    /// out by every scan.
    HDDS_CONTAINER_SCRUB_MIN_GAP: Duration = "hdds.container.scrub.min.gap", "15m", [DATANODE];
    /// Data directories that may fail before the DataNode ends; -1 for all but one.
    HDDS_DATANODE_FAILED_DATA_VOLUMES_TOLERATED: i32 = "hdds.datanode.failed.data.volumes.tolerated", "-1", [DATANODE];
    /// Raft log directories that may fail before the DataNode ends; -1 for all but one.
    HDDS_DATANODE_FAILED_METADATA_VOLUMES_TOLERATED: i32 = "hdds.datanode.failed.metadata.volumes.tolerated", "-1", [DATANODE];
    /// Databases of containers that may fail before the DataNode ends, -1 for all but one. Each
    /// data directory has its own, and fails with it.
    HDDS_DATANODE_FAILED_DB_VOLUMES_TOLERATED: i32 = "hdds.datanode.failed.db.volumes.tolerated", "-1", [DATANODE];
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
    /// The shortest time without a leader after which a member of a pipeline stands for election.
    /// Ozone's default is 5s.
    HDDS_RATIS_LEADER_ELECTION_MINIMUM_TIMEOUT_DURATION: Duration = "hdds.ratis.leader.election.minimum.timeout.duration", "1s", [DATANODE];
    /// How long a pipeline may be without a leader until a member asks SCM to close it.
    HDDS_RATIS_RAFT_SERVER_NOTIFICATION_NO_LEADER_TIMEOUT: Duration = "hdds.ratis.raft.server.notification.no-leader.timeout", "300s", [DATANODE];
    /// How long a member of a pipeline may not answer its leader until that asks SCM to close the
    /// pipeline.
    HDDS_RATIS_RAFT_SERVER_RPC_SLOWNESS_TIMEOUT: Duration = "hdds.ratis.raft.server.rpc.slowness.timeout", "300s", [DATANODE];
    /// How long a client's watch may take until it is told which members of the pipeline are
    /// behind.
    HDDS_RATIS_RAFT_SERVER_WATCH_TIMEOUT: Duration = "hdds.ratis.raft.server.watch.timeout", "30s", [DATANODE];
    /// Bytes of requests a pipeline's leader holds before it answers that it is busy.
    HDDS_CONTAINER_RATIS_LEADER_PENDING_BYTES_LIMIT: ByteSize = "hdds.container.ratis.leader.pending.bytes.limit", "256MB", [DATANODE];
    /// Verify the checksums of chunks as they are written.
    HDDS_DATANODE_CHUNK_DATA_VALIDATION_CHECK: bool = "hdds.datanode.chunk.data.validation.check", "false", [DATANODE];
    /// Write chunks so that they are on disk when answered, not only at PutBlock.
    HDDS_CONTAINER_CHUNK_WRITE_SYNC: bool = "hdds.container.chunk.write.sync", "false", [DATANODE];
    /// Containers a DataNode copies to others at a time. More that SCM asks for wait.
    HDDS_DATANODE_REPLICATION_STREAMS_LIMIT: u32 = "hdds.datanode.replication.streams.limit", "10", [DATANODE];
    /// The most copies of containers that wait on a DataNode; more are refused, and SCM asks again
    /// later.
    HDDS_DATANODE_REPLICATION_QUEUE_LIMIT: u32 = "hdds.datanode.replication.queue.limit", "4096", [DATANODE];
    /// What a DataNode that leaves the service copies at a time, as a multiple of the limit.
    HDDS_DATANODE_REPLICATION_OUTOFSERVICE_LIMIT_FACTOR: f64 = "hdds.datanode.replication.outofservice.limit.factor", "2.0", [SCM, DATANODE];
    /// Bytes per second that a DataNode sends when it copies containers to others, all copies
    /// together; 0 for no limit.
    TRIOXIDE_DATANODE_REPLICATION_BANDWIDTH: ByteSize = "trioxide.datanode.replication.bandwidth", "0B", [DATANODE];
    /// Bytes per second, for each of its data directories, that a DataNode sends for copies and
    /// reconstructions, as many that it receives, and as many that it reads for others that rebuild
    /// a replica, while clients use it: at 10 requests a second or more. 0 for no other limit than
    /// trioxide.datanode.replication.bandwidth.
    TRIOXIDE_DATANODE_REPLICATION_BANDWIDTH_WITH_CLIENTS: ByteSize = "trioxide.datanode.replication.bandwidth.with.clients", "16MB", [DATANODE];
    /// How long a disk may give nothing to a client's read until that is tried on a fresh worker;
    /// after as long again it is refused, so that the client asks another replica. 0 for no limit.
    TRIOXIDE_DATANODE_READ_LIMIT: Duration = "trioxide.datanode.read.limit", "100ms", [DATANODE];
    /// Directories on fast disks that keep the first chunk of blocks: of those that are read again,
    /// and of those that were written last. None by default.
    TRIOXIDE_DATANODE_CACHE_DIRS: Vec<PathBuf> = "trioxide.datanode.cache.dirs", "", [DATANODE];
    /// Bytes of chunks in each directory of trioxide.datanode.cache.dirs; 64MB at least.
    TRIOXIDE_DATANODE_CACHE_CAPACITY: ByteSize = "trioxide.datanode.cache.capacity", "100GB", [DATANODE];
    /// Workers that a disk may have on top, in the place of those that hang in the kernel.
    TRIOXIDE_DATANODE_DISK_SPARE_WORKERS: u32 = "trioxide.datanode.disk.spare.workers", "16", [DATANODE];
    /// A command that takes as long is logged, with its stages and how long each took; 0 for none.
    HDDS_DATANODE_SLOW_OP_WARNING_THRESHOLD: Duration = "hdds.datanode.slow.op.warning.threshold", "500ms", [DATANODE];
}
