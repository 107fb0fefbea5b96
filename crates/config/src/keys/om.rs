//! Keys the Ozone Manager reads.

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::permissions::DirPermissions;
use crate::value::{ByteSize, HostPort};

keys! {
    /// Address of OM, for our own clients (framed protocol) and Ozone's Java clients (Hadoop RPC).
    OZONE_OM_ADDRESS: HostPort = "ozone.om.address", "0.0.0.0:9862", [OM, CLIENT, S3G];
    /// Address of OM's status page, metrics and service list; the host defaults to that of
    /// ozone.om.address.
    OZONE_OM_HTTP_ADDRESS: HostPort = "ozone.om.http-address", "0.0.0.0:9874", [OM];
    /// Address that OM binds its web port to, if it differs from ozone.om.http-address. Ozone's
    /// default is 0.0.0.0.
    OZONE_OM_HTTP_BIND_HOST: String = "ozone.om.http-bind-host", "", [OM];
    /// Serve OM's status page and metrics.
    OZONE_OM_HTTP_ENABLED: bool = "ozone.om.http.enabled", "true", [OM];
    /// Enable OM's gRPC endpoint.
    OZONE_OM_S3_GRPC_SERVER_ENABLED: bool = "ozone.om.s3.grpc.server_enabled", "true", [OM];
    /// Port of OM's gRPC endpoint, on the host of ozone.om.address.
    OZONE_OM_GRPC_PORT: u16 = "ozone.om.grpc.port", "8981", [OM, CLIENT, S3G];
    /// Maximum size of a gRPC message that OM sends or accepts.
    OZONE_OM_GRPC_MAXIMUM_RESPONSE_LENGTH: ByteSize = "ozone.om.grpc.maximum.response.length", "128MB", [OM, CLIENT];
    /// Directory of OM's tables and Raft log; ozone.metadata.dirs if unset.
    OZONE_OM_DB_DIRS: Option<PathBuf> = "ozone.om.db.dirs", "", [OM];
    /// Permissions of ozone.om.db.dirs and of OM's Raft log directory, which contain secrets of S3
    /// users, octal or symbolic: 700 or rwx------. Existing directories are changed, too.
    OZONE_OM_DB_DIRS_PERMISSIONS: DirPermissions = "ozone.om.db.dirs.permissions", "700", [OM];
    /// Directory of OM's Raft log; next to its tables if unset.
    OZONE_OM_RATIS_STORAGE_DIR: Option<PathBuf> = "ozone.om.ratis.storage.dir", "", [OM];
    /// Number of applied Raft entries after which OM flushes its tables and trims its Raft log.
    OZONE_OM_RATIS_SNAPSHOT_AUTO_TRIGGER_THRESHOLD: u64 = "ozone.om.ratis.snapshot.auto.trigger.threshold", "400000", [OM];
    /// Service ids of the OM services that clients can use; empty for a single OM.
    OZONE_OM_SERVICE_IDS: Vec<String> = "ozone.om.service.ids", "", [OM, CLIENT, S3G];
    /// Service id of the OM service to which this OM belongs.
    OZONE_OM_INTERNAL_SERVICE_ID: String = "ozone.om.internal.service.id", "", [OM];
    /// Node id of this OM within its service.
    OZONE_OM_NODE_ID: String = "ozone.om.node.id", "om1", [OM];
    /// Node ids of the OMs of a service, which form one Raft group, as ozone.om.nodes.SERVICE. The
    /// address of each is ozone.om.address.SERVICE.NODE.
    OZONE_OM_NODES: Vec<String> = "ozone.om.nodes", "", [OM, CLIENT, S3G];
    /// OMs of ozone.om.nodes.SERVICE that are decommissioned, as
    /// ozone.om.decommissioned.nodes.SERVICE. An operator removes them from the Raft group with "o3
    /// admin om decommission".
    OZONE_OM_DECOMMISSIONED_NODES: Vec<String> = "ozone.om.decommissioned.nodes", "", [OM, CLIENT, S3G];
    /// OMs of ozone.om.nodes.SERVICE that are listeners, as ozone.om.listener.nodes.SERVICE: they
    /// follow the leader and never vote or lead. They join with "o3 om --bootstrap".
    OZONE_OM_LISTENER_NODES: Vec<String> = "ozone.om.listener.nodes", "", [OM];
    /// Port of the replication between the OMs of a service, on the host of ozone.om.address. Our
    /// own protocol.
    OZONE_OM_RATIS_PORT: u16 = "ozone.om.ratis.port", "9872", [OM];
    /// Allow a follower to serve LOCAL_LEASE reads from its local state.
    OZONE_OM_FOLLOWER_READ_LOCAL_LEASE_ENABLED: bool = "ozone.om.follower.read.local.lease.enabled", "false", [OM];
    /// Maximum number of log entries by which a follower may lag its leader to serve such reads; -1
    /// for no limit.
    OZONE_OM_FOLLOWER_READ_LOCAL_LEASE_LOG_LIMIT: i64 = "ozone.om.follower.read.local.lease.log.limit", "10000", [OM];
    /// Maximum time by which a follower may lag its leader to serve such reads, in milliseconds; -1
    /// for no limit. A follower without lag measures one to two heartbeat intervals, so a limit
    /// below one second sends many reads to the leader.
    OZONE_OM_FOLLOWER_READ_LOCAL_LEASE_TIME_MS: i64 = "ozone.om.follower.read.local.lease.time.ms", "5000", [OM];
    /// Maximum bytes of updates in one response to Recon, at most about 32 MB. Recon requests the
    /// rest.
    OZONE_OM_DELTA_UPDATE_DATA_SIZE_MAX_LIMIT: ByteSize = "ozone.om.delta.update.data.size.max.limit", "1024MB", [OM];
    /// Layout of a bucket if the client does not set one.
    OZONE_DEFAULT_BUCKET_LAYOUT: String = "ozone.default.bucket.layout", "FILE_SYSTEM_OPTIMIZED", [OM], one of ["FILE_SYSTEM_OPTIMIZED", "OBJECT_STORE", "LEGACY"];
    /// Replication that users may set for a key, an upload or a bucket: a regular expression that
    /// must match all of RATIS/THREE or EC/3-2-1024k. ".*" allows everything. Keys of existing
    /// buckets with another default replication still receive it.
    OZONE_REPLICATION_ALLOWED_CONFIGS: String = "ozone.replication.allowed-configs", "^((STANDALONE|RATIS)/(ONE|THREE))|(EC/(3-2|6-3|10-4)-(512|1024|2048|4096)k)$", [OM];
    /// Storage policy of keys if neither they nor their bucket have one: HOT, WARM or COLD. If
    /// unset, blocks are written to disks of type DISK, or to others where there are none.
    OZONE_DEFAULT_STORAGEPOLICY: String = "ozone.default.storagepolicy", "", [OM];
    /// Maximum number of blocks allocated by one request to create a key.
    OZONE_KEY_PREALLOCATION_MAX_BLOCKS: u32 = "ozone.key.preallocation.max.blocks", "64", [OM];
    /// Maximum number of keys that one run of the key deleting service takes from deletedTable.
    OZONE_KEY_DELETING_LIMIT_PER_TASK: u32 = "ozone.key.deleting.limit.per.task", "20000", [OM];
    /// Interval at which OM sends the blocks of deleted keys to SCM.
    OZONE_OM_KEY_DELETING_SERVICE_INTERVAL: Duration = "trioxide.om.key.deleting.service.interval", "5s", [OM];
    /// Minimum time between the deletion or overwrite of a key and the deletion of its blocks, so
    /// that readers that looked it up before can finish. Deleted snapshots are kept for the same
    /// time. Space is reclaimed that much later; 0s reclaims it at once.
    TRIOXIDE_OM_DELETED_BLOCKS_KEPT: Duration = "trioxide.om.deleted.blocks.kept", "30s", [OM];
    /// Compact ranges of OM's tables in which deletions left many tombstones. If false, they are
    /// compacted only by "o3 admin om compaction run".
    OZONE_OM_RANGE_COMPACTION_SERVICE_ENABLED: bool = "ozone.om.range.compaction.service.enabled", "true", [OM];
    /// Interval at which OM looks for such ranges.
    OZONE_OM_RANGE_COMPACTION_SERVICE_INTERVAL: Duration = "ozone.om.range.compaction.service.interval", "30s", [OM];
    /// Maximum number of entries of a compacted range, unless a single file has more.
    OZONE_OM_RANGE_COMPACTION_SERVICE_MAX_COMPACTION_ENTRIES: u64 = "ozone.om.range.compaction.service.max.compaction.entries", "1000000", [OM];
    /// Minimum share of tombstones among the entries of a compacted range, in percent.
    OZONE_OM_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE: u64 = "ozone.om.range.compaction.service.tombstone.percentage", "30", [OM];
    /// Minimum number of tombstones of a compacted range.
    OZONE_OM_RANGE_COMPACTION_SERVICE_MIN_TOMBSTONES: u64 = "ozone.om.range.compaction.service.min.tombstones", "10000", [OM];
    /// Also compact whole tables at regular intervals. Not needed in addition to range compaction.
    OZONE_OM_COMPACTION_SERVICE_ENABLED: bool = "ozone.om.compaction.service.enabled", "false", [OM];
    /// Interval of the compaction of whole tables.
    OZONE_OM_COMPACTION_SERVICE_RUN_INTERVAL: Duration = "ozone.om.compaction.service.run.interval", "6h", [OM];
    /// Tables that are compacted as a whole.
    OZONE_OM_COMPACTION_SERVICE_COLUMNFAMILIES: Vec<String> = "ozone.om.compaction.service.columnfamilies", "keyTable,fileTable,directoryTable,deletedTable,deletedDirectoryTable,multipartInfoTable", [OM];
    /// Interval of the directory deleting service; deletions also start it earlier.
    OZONE_DIRECTORY_DELETING_SERVICE_INTERVAL: Duration = "ozone.directory.deleting.service.interval", "1m", [OM];
    /// Maximum number of files and directories that one run of the directory deleting service
    /// processes.
    OZONE_PATH_DELETING_LIMIT_PER_TASK: u32 = "ozone.path.deleting.limit.per.task", "20000", [OM];
    /// Interval of the search for expired open keys.
    OZONE_OM_OPEN_KEY_CLEANUP_SERVICE_INTERVAL: Duration = "ozone.om.open.key.cleanup.service.interval", "24h", [OM];
    /// Age at which an open key expires.
    OZONE_OM_OPEN_KEY_EXPIRE_THRESHOLD: Duration = "ozone.om.open.key.expire.threshold", "7d", [OM];
    /// Maximum number of open keys that one cleanup run deletes.
    OZONE_OM_OPEN_KEY_CLEANUP_LIMIT_PER_TASK: u32 = "ozone.om.open.key.cleanup.limit.per.task", "1000", [OM];
    /// Interval of the search for expired multipart uploads.
    OZONE_OM_OPEN_MPU_CLEANUP_SERVICE_INTERVAL: Duration = "ozone.om.open.mpu.cleanup.service.interval", "24h", [OM];
    /// Age at which a multipart upload expires.
    OZONE_OM_OPEN_MPU_EXPIRE_THRESHOLD: Duration = "ozone.om.open.mpu.expire.threshold", "30d", [OM];
    /// Maximum number of parts that one cleanup run of multipart uploads deletes.
    OZONE_OM_OPEN_MPU_PARTS_CLEANUP_LIMIT_PER_TASK: u32 = "ozone.om.open.mpu.parts.cleanup.limit.per.task", "1000", [OM];
    /// Minutes for which OM keeps deleted files in the trash; 0 to never empty it.
    FS_TRASH_INTERVAL: f64 = "fs.trash.interval", "0", [OM];
    /// Minutes for which OM keeps deleted files in the trash; fs.trash.interval if unset.
    OZONE_FS_TRASH_INTERVAL: Option<f64> = "ozone.fs.trash.interval", "", [OM];
    /// Minutes between trash checkpoints. If 0 or greater than the trash interval, the trash
    /// interval applies.
    FS_TRASH_CHECKPOINT_INTERVAL: f64 = "fs.trash.checkpoint.interval", "0", [OM];
    /// Minutes between trash checkpoints; fs.trash.checkpoint.interval if unset.
    OZONE_FS_TRASH_CHECKPOINT_INTERVAL: Option<f64> = "ozone.fs.trash.checkpoint.interval", "", [OM];
    /// Maximum number of open RocksDB files of OM; -1 for no limit. Ozone's default is -1.
    OZONE_OM_DB_MAX_OPEN_FILES: i32 = "ozone.om.db.max.open.files", "512", [OM];
    /// Maximum number of buckets of all volumes, links included; 100000 if 0 or less.
    OZONE_OM_MAX_BUCKETS: i64 = "ozone.om.max.buckets", "100000", [OM];
    /// Reject new key names with characters that S3's naming guide says to avoid.
    OZONE_OM_KEYNAME_CHARACTER_CHECK_ENABLED: bool = "ozone.om.keyname.character.check.enabled", "false", [OM];
    /// Names of volumes and buckets must follow S3's rules. If false, volumes, and buckets with a
    /// layout other than OBJECT_STORE, may have underscores in their names.
    OZONE_OM_NAMESPACE_S3_STRICT: bool = "ozone.om.namespace.s3.strict", "true", [OM];
    /// Maximum number of volumes that a user may own.
    OZONE_OM_USER_MAX_VOLUME: u32 = "ozone.om.user.max.volume", "1024", [OM];
    /// Maximum number of keys per page of a listing.
    OZONE_OM_SERVER_LIST_MAX_SIZE: u32 = "ozone.om.server.list.max.size", "1000", [OM];
    /// Maximum number of entries per page of a directory listing.
    OZONE_FS_LISTING_PAGE_SIZE_MAX: u32 = "ozone.fs.listing.page.size.max", "5000", [OM];
    /// Treat keys of LEGACY buckets as paths: every command creates the parent directories of a
    /// key.
    OZONE_OM_ENABLE_FILESYSTEM_PATHS: bool = "ozone.om.enable.filesystem.paths", "false", [OM];
    /// Allow users to create snapshots of buckets.
    OZONE_FILESYSTEM_SNAPSHOT_ENABLED: bool = "ozone.filesystem.snapshot.enabled", "true", [OM];
    /// Maximum number of snapshots of all buckets.
    OZONE_OM_FS_SNAPSHOT_MAX_LIMIT: u32 = "ozone.om.fs.snapshot.max.limit", "10000", [OM];
    /// Allow users to rename snapshots.
    OZONE_OM_SNAPSHOT_RENAME_ALLOWED: bool = "ozone.om.snapshot.rename.allowed", "false", [OM];
    /// Interval of the snapshot deleting service; deletions also start it earlier.
    OZONE_SNAPSHOT_DELETING_SERVICE_INTERVAL: Duration = "ozone.snapshot.deleting.service.interval", "30s", [OM];
    /// Maximum number of rows of deleted snapshots that one run processes.
    OZONE_SNAPSHOT_KEY_DELETING_LIMIT_PER_TASK: u32 = "ozone.snapshot.key.deleting.limit.per.task", "20000", [OM];
    /// Maximum number of entries per page of a snapshot diff.
    OZONE_OM_SNAPSHOT_DIFF_MAX_PAGE_SIZE: u32 = "ozone.om.snapshot.diff.max.page.size", "1000", [OM];
    /// Number of snapshot diffs that are computed in parallel.
    OZONE_OM_SNAPSHOT_DIFF_THREAD_POOL_SIZE: u32 = "ozone.om.snapshot.diff.thread.pool.size", "10", [OM];
    /// Time after which a client asks again for a snapshot diff in progress.
    OZONE_OM_SNAPSHOT_DIFF_JOB_DEFAULT_WAIT_TIME: Duration = "ozone.om.snapshot.diff.job.default.wait.time", "1m", [OM];
    /// Time for which OM keeps a snapshot diff.
    OZONE_OM_SNAPSHOT_DIFF_JOB_REPORT_PERSISTENT_TIME: Duration = "ozone.om.snapshot.diff.job.report.persistent.time", "7d", [OM];
    /// Maximum number of changed keys of a snapshot diff.
    OZONE_OM_SNAPSHOT_DIFF_MAX_ALLOWED_KEYS_CHANGED_PER_JOB: u64 = "ozone.om.snapshot.diff.max.allowed.keys.changed.per.job", "10000000", [OM];
    /// Volume of S3 buckets.
    OZONE_S3G_VOLUME: String = "ozone.s3g.volume.name", "s3v", [OM, S3G];
    /// Timeout of OM's block requests to SCM.
    OZONE_OM_SCM_REQUEST_TIMEOUT: Duration = "trioxide.om.scm.request.timeout", "30s", [OM];
    /// Allow the file system operations that HBase needs. Syncing requires this and
    /// ozone.fs.hsync.enabled.
    OZONE_HBASE_ENHANCEMENTS_ALLOWED: bool = "ozone.hbase.enhancements.allowed", "false", [OM];
    /// Allow writers to sync keys (hsync, hflush) before they close them; requires
    /// ozone.hbase.enhancements.allowed, too.
    OZONE_FS_HSYNC_ENABLED: bool = "ozone.fs.hsync.enabled", "false", [OM];
    /// Time after the last sync of a key during which no other client may recover its lease.
    OZONE_OM_LEASE_SOFT_LIMIT: Duration = "ozone.om.lease.soft.limit", "60s", [OM];
    /// Age at which OM closes a key that was synced but not closed.
    OZONE_OM_LEASE_HARD_LIMIT: Duration = "ozone.om.lease.hard.limit", "7d", [OM];
    /// Check every request against administrators, owners and ACLs; SCM and DataNodes check
    /// administrative requests against administrators. Ozone enforces ACLs only in a secure
    /// cluster, or with the native authorizer in ozone.acl.authorizer.class; here this key is
    /// sufficient.
    OZONE_ACL_ENABLED: bool = "ozone.acl.enabled", "false", [OM, SCM, DATANODE];
    /// Authorizer if ACLs are enabled: `native` (or its Java class name, OzoneNativeAuthorizer), or
    /// OzoneAccessAuthorizer, which allows everything.
    OZONE_ACL_AUTHORIZER_CLASS: String = "ozone.acl.authorizer.class", "native", [OM];
    /// Allow every user to list all volumes.
    OZONE_OM_VOLUME_LISTALL_ALLOWED: bool = "ozone.om.volume.listall.allowed", "true", [OM];
    /// Comma-separated users who may read and change the S3 secrets of all users; the
    /// administrators if neither this nor ozone.s3.administrators.groups is set.
    OZONE_S3_ADMINISTRATORS: Vec<String> = "ozone.s3.administrators", "", [OM];
    /// Groups whose members may read and change the S3 secrets of all users.
    OZONE_S3_ADMINISTRATORS_GROUPS: Vec<String> = "ozone.s3.administrators.groups", "", [OM];
    /// Users who may read everything, regardless of ACLs.
    OZONE_READONLY_ADMINISTRATORS: Vec<String> = "ozone.readonly.administrators", "", [OM, SCM];
    /// Groups whose members may read everything, regardless of ACLs.
    OZONE_READONLY_ADMINISTRATORS_GROUPS: Vec<String> = "ozone.readonly.administrators.groups", "", [OM, SCM];
    /// Users whose requests are all rejected, even if they are administrators.
    OZONE_BLACKLIST_USERS: Vec<String> = "ozone.blacklist.users", "", [OM];
    /// Groups whose members' requests are all rejected.
    OZONE_BLACKLIST_GROUPS: Vec<String> = "ozone.blacklist.groups", "", [OM];
    /// Users whose reads are rejected, even if they are administrators.
    OZONE_READ_BLACKLIST_USERS: Vec<String> = "ozone.read.blacklist.users", "", [OM];
    /// Groups whose members' reads are rejected.
    OZONE_READ_BLACKLIST_GROUPS: Vec<String> = "ozone.read.blacklist.groups", "", [OM];
}
