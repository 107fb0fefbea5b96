//! Keys the DataNode reads.

// `[SSD]` in the text of a key is a storage type, not a link.
#![allow(rustdoc::broken_intra_doc_links)]

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::permissions::DirPermissions;
use crate::value::{ByteSize, DataDir, HostPort};

keys! {
    /// Comma-separated data directories, one per disk. A directory whose storage type is not DISK
    /// has the type as prefix: [SSD]/path, [ARCHIVE]/path.
    HDDS_DATANODE_DIR: Vec<DataDir> = "hdds.datanode.dir", "", [DATANODE];
    /// Permissions of the directories in which a DataNode keeps data: hdds in each directory of
    /// hdds.datanode.dir, those of Raft logs and those of trioxide.datanode.cache.dirs. Existing
    /// directories are changed, too. Octal or symbolic, 700 or rwx------.
    HDDS_DATANODE_DATA_DIR_PERMISSIONS: DirPermissions = "hdds.datanode.data.dir.permissions", "700", [DATANODE];
    /// Directory of the file with the DataNode's id; ozone.metadata.dirs if unset.
    OZONE_SCM_DATANODE_ID_DIR: Option<PathBuf> = "ozone.scm.datanode.id.dir", "", [DATANODE];
    /// Directories of the Raft logs, one per disk; in the data directories if unset.
    HDDS_CONTAINER_RATIS_DATANODE_STORAGE_DIR: Vec<PathBuf> = "hdds.container.ratis.datanode.storage.dir", "", [DATANODE];
    /// Host name under which other machines reach this DataNode; detected if unset.
    HDDS_DATANODE_HOSTNAME: String = "hdds.datanode.hostname", "", [DATANODE];
    /// Address that the DataNode binds its ports to.
    HDDS_DATANODE_BIND_HOST: String = "trioxide.datanode.bind.host", "0.0.0.0", [DATANODE];
    /// Port of the container protocol over gRPC (Ozone's STANDALONE port); 0 for a random free
    /// port.
    HDDS_CONTAINER_IPC_PORT: u16 = "hdds.container.ipc.port", "9859", [DATANODE];
    /// Use a random free port for the container protocol, for several DataNodes on one host.
    HDDS_CONTAINER_IPC_RANDOM_PORT: bool = "hdds.container.ipc.random.port", "false", [DATANODE];
    /// Port of the framed protocol: container requests of our own clients, Raft messages, payload
    /// fetches; 0 for a random free port.
    TRIOXIDE_DATANODE_PORT: u16 = "trioxide.datanode.port", "9870", [DATANODE];
    /// Port of Ratis' client protocol; 0 for a random free port.
    HDDS_CONTAINER_RATIS_IPC_PORT: u16 = "hdds.container.ratis.ipc.port", "9858", [DATANODE];
    /// Use random free ports for our own protocol between DataNodes and for Ratis' clients, for
    /// several DataNodes on one host.
    HDDS_CONTAINER_RATIS_IPC_RANDOM_PORT: bool = "hdds.container.ratis.ipc.random.port", "false", [DATANODE];
    /// Address of the DataNode's status page and metrics; the host defaults to
    /// trioxide.datanode.bind.host.
    HDDS_DATANODE_HTTP_ADDRESS: HostPort = "hdds.datanode.http-address", "0.0.0.0:9882", [DATANODE];
    /// Address that the DataNode binds its web port to, if it differs from
    /// hdds.datanode.http-address. Ozone's default is 0.0.0.0.
    HDDS_DATANODE_HTTP_BIND_HOST: String = "hdds.datanode.http-bind-host", "", [DATANODE];
    /// Serve the DataNode's status page and metrics.
    HDDS_DATANODE_HTTP_ENABLED: bool = "hdds.datanode.http.enabled", "true", [DATANODE];
    /// Port of Hadoop RPC, on which ozone admin datanode diskbalancer reaches this DataNode; 0 for
    /// a random free port. If unset, the DataNode takes a random free port when the default is in
    /// use or its other ports are random, and registers it with SCM.
    HDDS_DATANODE_CLIENT_PORT: u16 = "hdds.datanode.client.port", "19864", [DATANODE, CLIENT];
    /// Host and port of Hadoop RPC; overrides hdds.datanode.client.port.
    HDDS_DATANODE_CLIENT_ADDRESS: Option<HostPort> = "hdds.datanode.client.address", "", [DATANODE];
    /// Address that Hadoop RPC is bound to; trioxide.datanode.bind.host if unset. Ozone's default
    /// is 0.0.0.0.
    HDDS_DATANODE_CLIENT_BIND_HOST: String = "hdds.datanode.client.bind.host", "", [DATANODE];
    /// Enable the disk balancer, which ozone admin datanode diskbalancer controls. If false, its
    /// commands are rejected.
    HDDS_DATANODE_DISK_BALANCER_ENABLED: bool = "hdds.datanode.disk.balancer.enabled", "true", [DATANODE, CLIENT];
    /// Run the disk balancer until an operator starts or stops it for the first time.
    HDDS_DATANODE_DISK_BALANCER_SHOULD_RUN_DEFAULT: bool = "hdds.datanode.disk.balancer.should.run.default", "false", [DATANODE];
    /// Directory of the file diskBalancer.info, which keeps the state and settings of the disk
    /// balancer over a restart; the metadata directory if unset.
    HDDS_DATANODE_DISK_BALANCER_INFO_DIR: Option<PathBuf> = "hdds.datanode.disk.balancer.info.dir", "", [DATANODE];
    /// Interval at which the disk balancer looks for containers to move. It does not wait while
    /// there are any.
    HDDS_DATANODE_DISK_BALANCER_SERVICE_INTERVAL: Duration = "hdds.datanode.disk.balancer.service.interval", "60s", [DATANODE];
    /// Duration above which the move of a container is logged.
    HDDS_DATANODE_DISK_BALANCER_SERVICE_TIMEOUT: Duration = "hdds.datanode.disk.balancer.service.timeout", "300s", [DATANODE];
    /// Maximum difference between the utilization of a disk and that of all disks of its DataNode,
    /// in percent, from 0 to 100. Applies until start or update changes it.
    HDDS_DATANODE_DISK_BALANCER_VOLUME_DENSITY_THRESHOLD_PERCENT: f64 = "hdds.datanode.disk.balancer.volume.density.threshold.percent", "10", [DATANODE];
    /// Maximum megabytes per second that the disk balancer moves, over all disks of a DataNode.
    /// Applies until start or update changes it.
    HDDS_DATANODE_DISK_BALANCER_MAX_DISK_THROUGHPUT: u64 = "hdds.datanode.disk.balancer.max.disk.throughputInMBPerSec", "10", [DATANODE];
    /// Number of containers that a DataNode moves in parallel. Applies until start or update
    /// changes it.
    HDDS_DATANODE_DISK_BALANCER_PARALLEL_THREAD: i32 = "hdds.datanode.disk.balancer.parallel.thread", "5", [DATANODE];
    /// Stop the disk balancer when the disks are even or no container can be moved. Applies until
    /// start or update changes it.
    HDDS_DATANODE_DISK_BALANCER_STOP_AFTER_DISK_EVEN: bool = "hdds.datanode.disk.balancer.stop.after.disk.even", "true", [DATANODE];
    /// Time after which the old copy of a moved container is deleted, so that reads in progress
    /// finish.
    HDDS_DATANODE_DISK_BALANCER_REPLICA_DELETION_DELAY: Duration = "hdds.datanode.disk.balancer.replica.deletion.delay", "5m", [DATANODE];
    /// States of containers that the disk balancer moves, CLOSED and QUASI_CLOSED. Applies until
    /// start or update changes it.
    HDDS_DATANODE_DISK_BALANCER_CONTAINER_STATES: Vec<String> = "hdds.datanode.disk.balancer.container.states", "CLOSED,QUASI_CLOSED", [DATANODE];
    /// Policy by which the disk balancer chooses containers and disks.
    HDDS_DATANODE_DISK_BALANCER_CONTAINER_CHOOSING_POLICY: String = "hdds.datanode.disk.balancer.container.choosing.policy", "org.apache.hadoop.ozone.container.diskbalancer.policy.DefaultContainerChoosingPolicy", [DATANODE], one of ["org.apache.hadoop.ozone.container.diskbalancer.policy.DefaultContainerChoosingPolicy", "DefaultContainerChoosingPolicy"];
    /// Space reserved for other uses on single disks, /dir1:100MB,/dir2:1GB. Space that others use
    /// already counts as reserved.
    HDDS_DATANODE_DIR_DU_RESERVED: Vec<String> = "hdds.datanode.dir.du.reserved", "", [DATANODE];
    /// Fraction of each disk reserved for other uses, from 0 to 1.
    HDDS_DATANODE_DIR_DU_RESERVED_PERCENT: f64 = "hdds.datanode.dir.du.reserved.percent", "0.0001", [DATANODE];
    /// Free space below which a disk accepts no more writes.
    HDDS_DATANODE_VOLUME_MIN_FREE_SPACE: ByteSize = "hdds.datanode.volume.min.free.space", "100MB", [DATANODE];
    /// Fraction of a disk, from 0 to 1, below which it receives no new containers, if that is more
    /// than hdds.datanode.volume.min.free.space. The DataNode reports it to SCM. Ozone's default is
    /// 0.02.
    HDDS_DATANODE_VOLUME_MIN_FREE_SPACE_PERCENT: f64 = "hdds.datanode.volume.min.free.space.percent", "0", [DATANODE];
    /// Fraction of a disk, from 0 to 1, below which it accepts no more writes, if that is more than
    /// hdds.datanode.volume.min.free.space. Ozone's default is 0.015.
    HDDS_DATANODE_VOLUME_MIN_FREE_SPACE_HARD_LIMIT_PERCENT: f64 = "hdds.datanode.volume.min.free.space.hard.limit.percent", "0", [DATANODE];
    /// Maximum number of open RocksDB files per disk; 0 or less for no such limit. All disks
    /// together never use more than a sixth of the process's file descriptor limit.
    HDDS_DATANODE_ROCKSDB_MAX_OPEN_FILES: i64 = "hdds.datanode.rocksdb.max-open-files", "1024", [DATANODE];
    /// Policy by which a disk is chosen for a new container.
    HDDS_DATANODE_VOLUME_CHOOSING_POLICY: String = "hdds.datanode.volume.choosing.policy", "capacity", [DATANODE], one of ["capacity", "round-robin",
        "org.apache.hadoop.ozone.container.common.volume.CapacityVolumeChoosingPolicy", "org.apache.hadoop.ozone.container.common.volume.RoundRobinVolumeChoosingPolicy"];
    /// Interval between checks of all data and Raft log directories, in minutes.
    HDDS_DATANODE_PERIODIC_DISK_CHECK_INTERVAL_MINUTES: u64 = "hdds.datanode.periodic.disk.check.interval.minutes", "60", [DATANODE];
    /// Minimum time between two checks of a directory. A directory with an I/O error is checked at
    /// once, unless it was checked within this time.
    HDDS_DATANODE_DISK_CHECK_MIN_GAP: Duration = "hdds.datanode.disk.check.min.gap", "10m", [DATANODE];
    /// Timeout of a directory's check, after which the directory has failed. A directory that takes
    /// longer to open at start is not used.
    HDDS_DATANODE_DISK_CHECK_TIMEOUT: Duration = "hdds.datanode.disk.check.timeout", "10m", [DATANODE];
    /// Number of recent I/O tests of a directory that are evaluated; 0 disables the tests.
    HDDS_DATANODE_DISK_CHECK_IO_TEST_COUNT: usize = "hdds.datanode.disk.check.io.test.count", "3", [DATANODE];
    /// Number of these tests that may fail before the directory has failed. A test also fails if
    /// the device failed to read files since the previous test. A failed fsync or a missing
    /// directory is not tolerated.
    HDDS_DATANODE_DISK_CHECK_IO_FAILURES_TOLERATED: usize = "hdds.datanode.disk.check.io.failures.tolerated", "1", [DATANODE];
    /// Size of the file that an I/O test writes, syncs and reads back.
    HDDS_DATANODE_DISK_CHECK_IO_FILE_SIZE: ByteSize = "hdds.datanode.disk.check.io.file.size", "100B", [DATANODE];
    /// Scan containers for corruption: all of them in the background, and a single one on demand
    /// after a read of it failed.
    HDDS_CONTAINER_SCRUB_ENABLED: bool = "hdds.container.scrub.enabled", "true", [DATANODE];
    /// Interval of the search for abandoned RECOVERING replicas.
    HDDS_DATANODE_RECOVERING_CONTAINER_SCRUBBING_SERVICE_INTERVAL: Duration = "hdds.datanode.recovering.container.scrubbing.service.interval", "1m", [DATANODE];
    /// Time after which an unfinished RECOVERING replica of Ozone's reconstruction protocol is
    /// deleted.
    OZONE_RECOVERING_CONTAINER_TIMEOUT: Duration = "ozone.recovering.container.timeout", "20m", [DATANODE];
    /// Interval of the metadata scan of all containers: directories, .container files, checksums
    /// and segment files, but not the data of blocks.
    HDDS_CONTAINER_SCRUB_METADATA_SCAN_INTERVAL: Duration = "hdds.container.scrub.metadata.scan.interval", "3h", [DATANODE];
    /// Interval of the data scan, which reads every closed container and compares it with its
    /// checksums. A disk takes longer if it holds more data than its rate allows for in this time.
    HDDS_CONTAINER_SCRUB_DATA_SCAN_INTERVAL: Duration = "hdds.container.scrub.data.scan.interval", "7d", [DATANODE];
    /// Maximum bytes per second that the data scan reads from each disk, at least 4KB. The rate
    /// drops to a tenth while other requests wait for the disk.
    HDDS_CONTAINER_SCRUB_VOLUME_BYTES_PER_SECOND: ByteSize = "hdds.container.scrub.volume.bytes.per.second", "5MB", [DATANODE];
    /// Maximum bytes per second that on-demand scans read, at least 4KB. A read error of a
    /// container starts one.
    HDDS_CONTAINER_SCRUB_ON_DEMAND_VOLUME_BYTES_PER_SECOND: ByteSize = "hdds.container.scrub.on.demand.volume.bytes.per.second", "5MB", [DATANODE];
    /// Off-peak hours, in the DataNode's local time, in which both scan rates are multiplied by
    /// hdds.container.scrub.off-peak.ratio: 1,2,3 or 22-5, first and last hour included.
    HDDS_CONTAINER_SCRUB_OFF_PEAK_HOUR: Vec<String> = "hdds.container.scrub.off-peak.hour", "", [DATANODE];
    /// Factor by which scan rates are multiplied in the hours of
    /// hdds.container.scrub.off-peak.hour; greater than 0.
    HDDS_CONTAINER_SCRUB_OFF_PEAK_RATIO: f64 = "hdds.container.scrub.off-peak.ratio", "1", [DATANODE];
    /// Minimum time between two scans of a container. All scans skip containers whose data was
    /// scanned within this time.
    HDDS_CONTAINER_SCRUB_MIN_GAP: Duration = "hdds.container.scrub.min.gap", "15m", [DATANODE];
    /// Number of data directories that may fail before the DataNode stops; -1 for all but one.
    HDDS_DATANODE_FAILED_DATA_VOLUMES_TOLERATED: i32 = "hdds.datanode.failed.data.volumes.tolerated", "-1", [DATANODE];
    /// Number of Raft log directories that may fail before the DataNode stops; -1 for all but one.
    HDDS_DATANODE_FAILED_METADATA_VOLUMES_TOLERATED: i32 = "hdds.datanode.failed.metadata.volumes.tolerated", "-1", [DATANODE];
    /// Number of container databases that may fail before the DataNode stops; -1 for all but one.
    /// Each data directory has its own database and fails with it.
    HDDS_DATANODE_FAILED_DB_VOLUMES_TOLERATED: i32 = "hdds.datanode.failed.db.volumes.tolerated", "-1", [DATANODE];
    /// Interval of a DataNode's reports of its disks.
    HDDS_NODE_REPORT_INTERVAL: Duration = "hdds.node.report.interval", "60s", [DATANODE];
    /// Interval of a DataNode's full container reports.
    HDDS_CONTAINER_REPORT_INTERVAL: Duration = "hdds.container.report.interval", "60m", [DATANODE];
    /// Interval of a DataNode's full pipeline reports. Changes are reported at once.
    HDDS_PIPELINE_REPORT_INTERVAL: Duration = "hdds.pipeline.report.interval", "60s", [DATANODE];
    /// Timeout of a heartbeat.
    OZONE_SCM_HEARTBEAT_RPC_TIMEOUT: Duration = "ozone.scm.heartbeat.rpc-timeout", "5s", [DATANODE];
    /// Size of the RocksDB block cache, shared by all disks.
    HDDS_DATANODE_METADATA_ROCKSDB_CACHE_SIZE: ByteSize = "hdds.datanode.metadata.rocksdb.cache.size", "64MB", [DATANODE];
    /// Number of applied Raft entries after which a pipeline's log is trimmed.
    HDDS_RATIS_SNAPSHOT_THRESHOLD: u64 = "hdds.ratis.snapshot.threshold", "100000", [DATANODE];
    /// Minimum election timeout: the time without a leader after which a member of a pipeline
    /// starts an election. Ozone's default is 5s.
    HDDS_RATIS_LEADER_ELECTION_MINIMUM_TIMEOUT_DURATION: Duration = "hdds.ratis.leader.election.minimum.timeout.duration", "1s", [DATANODE];
    /// Time without a leader after which a member asks SCM to close the pipeline.
    HDDS_RATIS_RAFT_SERVER_NOTIFICATION_NO_LEADER_TIMEOUT: Duration = "hdds.ratis.raft.server.notification.no-leader.timeout", "300s", [DATANODE];
    /// Time without an answer from a follower after which the leader asks SCM to close the
    /// pipeline.
    HDDS_RATIS_RAFT_SERVER_RPC_SLOWNESS_TIMEOUT: Duration = "hdds.ratis.raft.server.rpc.slowness.timeout", "300s", [DATANODE];
    /// Timeout of a client's watch request, which then returns the members of the pipeline that
    /// lag.
    HDDS_RATIS_RAFT_SERVER_WATCH_TIMEOUT: Duration = "hdds.ratis.raft.server.watch.timeout", "30s", [DATANODE];
    /// Maximum bytes of pending requests of a pipeline's leader. It rejects further requests as
    /// busy.
    HDDS_CONTAINER_RATIS_LEADER_PENDING_BYTES_LIMIT: ByteSize = "hdds.container.ratis.leader.pending.bytes.limit", "256MB", [DATANODE];
    /// Verify the checksums of chunks on write.
    HDDS_DATANODE_CHUNK_DATA_VALIDATION_CHECK: bool = "hdds.datanode.chunk.data.validation.check", "false", [DATANODE];
    /// Sync each chunk to disk before it is acknowledged, instead of only at PutBlock.
    HDDS_CONTAINER_CHUNK_WRITE_SYNC: bool = "hdds.container.chunk.write.sync", "false", [DATANODE];
    /// Number of containers that a DataNode copies to others in parallel. Further commands of SCM
    /// are queued.
    HDDS_DATANODE_REPLICATION_STREAMS_LIMIT: u32 = "hdds.datanode.replication.streams.limit", "10", [DATANODE];
    /// Maximum number of queued container copies of a DataNode. It rejects further ones, and SCM
    /// retries them later.
    HDDS_DATANODE_REPLICATION_QUEUE_LIMIT: u32 = "hdds.datanode.replication.queue.limit", "4096", [DATANODE];
    /// Factor by which hdds.datanode.replication.streams.limit is multiplied while a DataNode is
    /// being decommissioned or enters maintenance.
    HDDS_DATANODE_REPLICATION_OUTOFSERVICE_LIMIT_FACTOR: f64 = "hdds.datanode.replication.outofservice.limit.factor", "2.0", [SCM, DATANODE];
    /// Maximum bytes per second that a DataNode sends in all container copies together; 0 for no
    /// limit.
    TRIOXIDE_DATANODE_REPLICATION_BANDWIDTH: ByteSize = "trioxide.datanode.replication.bandwidth", "0B", [DATANODE];
    /// Maximum bytes per second, per data directory, for copies and reconstructions while clients
    /// use the DataNode (10 requests per second or more). Applies separately to bytes sent, bytes
    /// received, and bytes read for reconstructions on other nodes. 0 for no limit other than
    /// trioxide.datanode.replication.bandwidth.
    TRIOXIDE_DATANODE_REPLICATION_BANDWIDTH_WITH_CLIENTS: ByteSize = "trioxide.datanode.replication.bandwidth.with.clients", "16MB", [DATANODE];
    /// Time without data from a disk after which a client's read is retried on a new worker thread.
    /// After the same time again it is rejected, so that the client reads another replica. 0 for no
    /// limit.
    TRIOXIDE_DATANODE_READ_LIMIT: Duration = "trioxide.datanode.read.limit", "100ms", [DATANODE];
    /// Directories on fast disks that cache the first chunk of blocks: of blocks that are read
    /// repeatedly and of blocks written recently. None by default.
    TRIOXIDE_DATANODE_CACHE_DIRS: Vec<PathBuf> = "trioxide.datanode.cache.dirs", "", [DATANODE];
    /// Capacity of each directory of trioxide.datanode.cache.dirs; at least 64MB.
    TRIOXIDE_DATANODE_CACHE_CAPACITY: ByteSize = "trioxide.datanode.cache.capacity", "100GB", [DATANODE];
    /// Maximum number of additional worker threads of a disk, which replace those that hang in the
    /// kernel.
    TRIOXIDE_DATANODE_DISK_SPARE_WORKERS: u32 = "trioxide.datanode.disk.spare.workers", "16", [DATANODE];
    /// Duration above which a command is logged with the duration of each of its stages; 0 disables
    /// it.
    HDDS_DATANODE_SLOW_OP_WARNING_THRESHOLD: Duration = "hdds.datanode.slow.op.warning.threshold", "500ms", [DATANODE];
}
