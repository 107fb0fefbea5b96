//! Keys the Ozone Manager reads.

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::permissions::DirPermissions;
use crate::value::{ByteSize, HostPort};

keys! {
    /// Where OM is reached: by our own clients (framed protocol) and by Ozone's Java clients
    /// (Hadoop RPC).
    OZONE_OM_ADDRESS: HostPort = "ozone.om.address", "0.0.0.0:9862", [OM, CLIENT, S3G];
    /// Where OM's status page, metrics and service list are served; the host is that of
    /// ozone.om.address when unset.
    OZONE_OM_HTTP_ADDRESS: HostPort = "ozone.om.http-address", "0.0.0.0:9874", [OM];
    /// The address OM binds its web port to, when not that of ozone.om.http-address. Ozone's
    /// default is 0.0.0.0.
    OZONE_OM_HTTP_BIND_HOST: String = "ozone.om.http-bind-host", "", [OM];
    /// Serve OM's status page and metrics.
    OZONE_OM_HTTP_ENABLED: bool = "ozone.om.http.enabled", "true", [OM];
    /// Open OM's gRPC endpoint.
    OZONE_OM_S3_GRPC_SERVER_ENABLED: bool = "ozone.om.s3.grpc.server_enabled", "true", [OM];
    /// Port of OM's gRPC endpoint, on the host of ozone.om.address.
    OZONE_OM_GRPC_PORT: u16 = "ozone.om.grpc.port", "8981", [OM, CLIENT, S3G];
    /// Largest message OM sends or takes over gRPC.
    OZONE_OM_GRPC_MAXIMUM_RESPONSE_LENGTH: ByteSize = "ozone.om.grpc.maximum.response.length", "128MB", [OM, CLIENT];
    /// Where OM keeps its tables and Raft log; ozone.metadata.dirs when unset.
    OZONE_OM_DB_DIRS: Option<PathBuf> = "ozone.om.db.dirs", "", [OM];
    /// Permissions of ozone.om.db.dirs and of the directory of OM's Raft log, which hold secrets of
    /// S3 users; also of directories that are there already: octal or symbolic, 700 or
    /// rwx------.
    OZONE_OM_DB_DIRS_PERMISSIONS: DirPermissions = "ozone.om.db.dirs.permissions", "700", [OM];
    /// Where OM keeps its Raft log, when not beside its tables.
    OZONE_OM_RATIS_STORAGE_DIR: Option<PathBuf> = "ozone.om.ratis.storage.dir", "", [OM];
    /// Applied changes after which OM makes its tables durable and trims its Raft log.
    OZONE_OM_RATIS_SNAPSHOT_AUTO_TRIGGER_THRESHOLD: u64 = "ozone.om.ratis.snapshot.auto.trigger.threshold", "400000", [OM];
    /// The OM services clients can choose from; empty for a single OM.
    OZONE_OM_SERVICE_IDS: Vec<String> = "ozone.om.service.ids", "", [OM, CLIENT, S3G];
    /// The OM service this OM belongs to.
    OZONE_OM_INTERNAL_SERVICE_ID: String = "ozone.om.internal.service.id", "", [OM];
    /// The id of this OM within its service.
    OZONE_OM_NODE_ID: String = "ozone.om.node.id", "om1", [OM];
    /// The ids of the OMs of a service, as ozone.om.nodes.SERVICE: one Raft group. Their addresses
    /// stand under ozone.om.address.SERVICE.NODE.
    OZONE_OM_NODES: Vec<String> = "ozone.om.nodes", "", [OM, CLIENT, S3G];
    /// Those of ozone.om.nodes.SERVICE, as ozone.om.decommissioned.nodes.SERVICE, that are not to
    /// run any more: an operator removes them with "o3 admin om decommission".
    OZONE_OM_DECOMMISSIONED_NODES: Vec<String> = "ozone.om.decommissioned.nodes", "", [OM, CLIENT, S3G];
    /// Those of ozone.om.nodes.SERVICE, as ozone.om.listener.nodes.SERVICE, that follow and never
    /// vote or lead. They join with "o3 om --bootstrap".
    OZONE_OM_LISTENER_NODES: Vec<String> = "ozone.om.listener.nodes", "", [OM];
    /// Port on which the OMs of a service replicate to each other, on the host of ozone.om.address.
    /// Our own protocol.
    OZONE_OM_RATIS_PORT: u16 = "ozone.om.ratis.port", "9872", [OM];
    /// Let an OM that does not lead answer, from what it has, reads of clients that ask for
    /// LOCAL_LEASE.
    OZONE_OM_FOLLOWER_READ_LOCAL_LEASE_ENABLED: bool = "ozone.om.follower.read.local.lease.enabled", "false", [OM];
    /// The most log entries an OM may be behind its leader to answer so; -1 for any number.
    OZONE_OM_FOLLOWER_READ_LOCAL_LEASE_LOG_LIMIT: i64 = "ozone.om.follower.read.local.lease.log.limit", "10000", [OM];
    /// The longest an OM may be behind to answer so, in milliseconds; -1 for any time. An OM that
    /// keeps up knows it of a moment one to two heartbeats ago, so a bound below a second sends
    /// many reads to the leader.
    OZONE_OM_FOLLOWER_READ_LOCAL_LEASE_TIME_MS: i64 = "ozone.om.follower.read.local.lease.time.ms", "5000", [OM];
    /// Bytes of updates that one answer to Recon has, at most about 32 MB: Recon asks again for
    /// the rest.
    OZONE_OM_DELTA_UPDATE_DATA_SIZE_MAX_LIMIT: ByteSize = "ozone.om.delta.update.data.size.max.limit", "1024MB", [OM];
    /// Layout of a bucket when the client does not say.
    OZONE_DEFAULT_BUCKET_LAYOUT: String = "ozone.default.bucket.layout", "FILE_SYSTEM_OPTIMIZED", [OM], one of ["FILE_SYSTEM_OPTIMIZED", "OBJECT_STORE", "LEGACY"];
    /// What users may ask for as the replication of a key, an upload or a bucket: a regular
    /// expression that all of it matches, written RATIS/THREE or EC/3-2-1024k. With ".*" anything
    /// goes. Keys of a bucket that was made before with another replication still get that.
    OZONE_REPLICATION_ALLOWED_CONFIGS: String = "ozone.replication.allowed-configs", "^((STANDALONE|RATIS)/(ONE|THREE))|(EC/(3-2|6-3|10-4)-(512|1024|2048|4096)k)$", [OM];
    /// The storage policy of keys when neither they nor their bucket have one: HOT, WARM or COLD;
    /// when unset their blocks go to disks of type DISK, or to others where there are none.
    OZONE_DEFAULT_STORAGEPOLICY: String = "ozone.default.storagepolicy", "", [OM];
    /// The most blocks handed out by one request to create a key.
    OZONE_KEY_PREALLOCATION_MAX_BLOCKS: u32 = "ozone.key.preallocation.max.blocks", "64", [OM];
    /// The most keys one run of the key deleting service takes from deletedTable.
    OZONE_KEY_DELETING_LIMIT_PER_TASK: u32 = "ozone.key.deleting.limit.per.task", "20000", [OM];
    /// How often OM hands deleted keys over to SCM.
    OZONE_OM_KEY_DELETING_SERVICE_INTERVAL: Duration = "trioxide.om.key.deleting.service.interval", "5s", [OM];
    /// The least time between the deletion or overwrite of a key and the order to delete its
    /// blocks: for so long, readers that looked it up before can read it to its end. Deleted
    /// snapshots are left alone for as long, too. Space is given back that much later; 0s gives it
    /// back at once.
    TRIOXIDE_OM_DELETED_BLOCKS_KEPT: Duration = "trioxide.om.deleted.blocks.kept", "30s", [OM];
    /// Compact ranges of OM's tables in which deletions left many tombstones; without it they are
    /// compacted when "o3 admin om compaction run" asks for it.
    OZONE_OM_RANGE_COMPACTION_SERVICE_ENABLED: bool = "ozone.om.range.compaction.service.enabled", "true", [OM];
    /// How often OM looks for such ranges.
    OZONE_OM_RANGE_COMPACTION_SERVICE_INTERVAL: Duration = "ozone.om.range.compaction.service.interval", "30s", [OM];
    /// The most entries of one range that is compacted, unless a single file has more.
    OZONE_OM_RANGE_COMPACTION_SERVICE_MAX_COMPACTION_ENTRIES: u64 = "ozone.om.range.compaction.service.max.compaction.entries", "1000000", [OM];
    /// The share of tombstones among its entries, in percent, from which on a range is compacted.
    OZONE_OM_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE: u64 = "ozone.om.range.compaction.service.tombstone.percentage", "30", [OM];
    /// The fewest tombstones for which a range is compacted.
    OZONE_OM_RANGE_COMPACTION_SERVICE_MIN_TOMBSTONES: u64 = "ozone.om.range.compaction.service.min.tombstones", "10000", [OM];
    /// Compact whole tables at intervals, too. Not needed beside the compaction of ranges.
    OZONE_OM_COMPACTION_SERVICE_ENABLED: bool = "ozone.om.compaction.service.enabled", "false", [OM];
    /// How often whole tables are compacted.
    OZONE_OM_COMPACTION_SERVICE_RUN_INTERVAL: Duration = "ozone.om.compaction.service.run.interval", "6h", [OM];
    /// The tables that are compacted as a whole.
    OZONE_OM_COMPACTION_SERVICE_COLUMNFAMILIES: Vec<String> = "ozone.om.compaction.service.columnfamilies", "keyTable,fileTable,directoryTable,deletedTable,deletedDirectoryTable,multipartInfoTable", [OM];
    /// How often OM takes deleted directories apart without being woken.
    OZONE_DIRECTORY_DELETING_SERVICE_INTERVAL: Duration = "ozone.directory.deleting.service.interval", "1m", [OM];
    /// The most files and directories one run of the directory deleting service takes.
    OZONE_PATH_DELETING_LIMIT_PER_TASK: u32 = "ozone.path.deleting.limit.per.task", "20000", [OM];
    /// How often OM looks for open keys that no client will commit.
    OZONE_OM_OPEN_KEY_CLEANUP_SERVICE_INTERVAL: Duration = "ozone.om.open.key.cleanup.service.interval", "24h", [OM];
    /// Age at which an open key counts as abandoned.
    OZONE_OM_OPEN_KEY_EXPIRE_THRESHOLD: Duration = "ozone.om.open.key.expire.threshold", "7d", [OM];
    /// The most open keys one run of the cleanup removes.
    OZONE_OM_OPEN_KEY_CLEANUP_LIMIT_PER_TASK: u32 = "ozone.om.open.key.cleanup.limit.per.task", "1000", [OM];
    /// How often OM looks for multipart uploads that no client will complete.
    OZONE_OM_OPEN_MPU_CLEANUP_SERVICE_INTERVAL: Duration = "ozone.om.open.mpu.cleanup.service.interval", "24h", [OM];
    /// Age at which a multipart upload counts as abandoned.
    OZONE_OM_OPEN_MPU_EXPIRE_THRESHOLD: Duration = "ozone.om.open.mpu.expire.threshold", "30d", [OM];
    /// The most parts one run of the multipart cleanup removes.
    OZONE_OM_OPEN_MPU_PARTS_CLEANUP_LIMIT_PER_TASK: u32 = "ozone.om.open.mpu.parts.cleanup.limit.per.task", "1000", [OM];
    /// Minutes for which OM keeps what is in the trash of file systems; with 0 it never empties it.
    FS_TRASH_INTERVAL: f64 = "fs.trash.interval", "0", [OM];
    /// Minutes for which OM keeps what is in the trash of file systems; fs.trash.interval when
    /// unset.
    OZONE_FS_TRASH_INTERVAL: Option<f64> = "ozone.fs.trash.interval", "", [OM];
    /// Minutes between checkpoints of the trash; with 0, or more than it is kept, as long as it is
    /// kept.
    FS_TRASH_CHECKPOINT_INTERVAL: f64 = "fs.trash.checkpoint.interval", "0", [OM];
    /// Minutes between checkpoints of the trash; fs.trash.checkpoint.interval when unset.
    OZONE_FS_TRASH_CHECKPOINT_INTERVAL: Option<f64> = "ozone.fs.trash.checkpoint.interval", "", [OM];
    /// Files of its tables that OM keeps open, -1 for all. Ozone's default is -1.
    OZONE_OM_DB_MAX_OPEN_FILES: i32 = "ozone.om.db.max.open.files", "512", [OM];
    /// The most buckets of all volumes, links included; 100000 when it is 0 or less.
    OZONE_OM_MAX_BUCKETS: i64 = "ozone.om.max.buckets", "100000", [OM];
    /// Refuse new names of keys with characters that S3's naming guide says to avoid.
    OZONE_OM_KEYNAME_CHARACTER_CHECK_ENABLED: bool = "ozone.om.keyname.character.check.enabled", "false", [OM];
    /// Names of volumes and buckets follow S3's rules; without it those of volumes, and of buckets
    /// whose layout is not OBJECT_STORE, may have underscores.
    OZONE_OM_NAMESPACE_S3_STRICT: bool = "ozone.om.namespace.s3.strict", "true", [OM];
    /// The most volumes a user may own.
    OZONE_OM_USER_MAX_VOLUME: u32 = "ozone.om.user.max.volume", "1024", [OM];
    /// The most keys one page of a listing holds.
    OZONE_OM_SERVER_LIST_MAX_SIZE: u32 = "ozone.om.server.list.max.size", "1000", [OM];
    /// The most entries one page of a directory holds.
    OZONE_FS_LISTING_PAGE_SIZE_MAX: u32 = "ozone.fs.listing.page.size.max", "5000", [OM];
    /// Keys of LEGACY buckets are paths: every command makes the directories above a key.
    OZONE_OM_ENABLE_FILESYSTEM_PATHS: bool = "ozone.om.enable.filesystem.paths", "false", [OM];
    /// Let users make snapshots of buckets.
    OZONE_FILESYSTEM_SNAPSHOT_ENABLED: bool = "ozone.filesystem.snapshot.enabled", "true", [OM];
    /// The most snapshots of all buckets.
    OZONE_OM_FS_SNAPSHOT_MAX_LIMIT: u32 = "ozone.om.fs.snapshot.max.limit", "10000", [OM];
    /// Let users rename snapshots.
    OZONE_OM_SNAPSHOT_RENAME_ALLOWED: bool = "ozone.om.snapshot.rename.allowed", "false", [OM];
    /// How often OM takes deleted snapshots apart without being woken.
    OZONE_SNAPSHOT_DELETING_SERVICE_INTERVAL: Duration = "ozone.snapshot.deleting.service.interval", "30s", [OM];
    /// The most rows of deleted snapshots that OM takes in one run.
    OZONE_SNAPSHOT_KEY_DELETING_LIMIT_PER_TASK: u32 = "ozone.snapshot.key.deleting.limit.per.task", "20000", [OM];
    /// The most entries one page of a snapshot diff holds.
    OZONE_OM_SNAPSHOT_DIFF_MAX_PAGE_SIZE: u32 = "ozone.om.snapshot.diff.max.page.size", "1000", [OM];
    /// The most snapshot diffs that are made at a time.
    OZONE_OM_SNAPSHOT_DIFF_THREAD_POOL_SIZE: u32 = "ozone.om.snapshot.diff.thread.pool.size", "10", [OM];
    /// When a client is told to ask again for a snapshot diff that is being made.
    OZONE_OM_SNAPSHOT_DIFF_JOB_DEFAULT_WAIT_TIME: Duration = "ozone.om.snapshot.diff.job.default.wait.time", "1m", [OM];
    /// How long OM keeps a snapshot diff.
    OZONE_OM_SNAPSHOT_DIFF_JOB_REPORT_PERSISTENT_TIME: Duration = "ozone.om.snapshot.diff.job.report.persistent.time", "7d", [OM];
    /// The most changed keys a snapshot diff may have.
    OZONE_OM_SNAPSHOT_DIFF_MAX_ALLOWED_KEYS_CHANGED_PER_JOB: u64 = "ozone.om.snapshot.diff.max.allowed.keys.changed.per.job", "10000000", [OM];
    /// The volume S3 buckets live in.
    OZONE_S3G_VOLUME: String = "ozone.s3g.volume.name", "s3v", [OM, S3G];
    /// How long a SCM block request of OM may take.
    OZONE_OM_SCM_REQUEST_TIMEOUT: Duration = "trioxide.om.scm.request.timeout", "30s", [OM];
    /// Allow what HBase needs of a file system. Syncing wants this and ozone.fs.hsync.enabled.
    OZONE_HBASE_ENHANCEMENTS_ALLOWED: bool = "ozone.hbase.enhancements.allowed", "false", [OM];
    /// Let writers sync keys (hsync, hflush) before they close them; wants
    /// ozone.hbase.enhancements.allowed too.
    OZONE_FS_HSYNC_ENABLED: bool = "ozone.fs.hsync.enabled", "false", [OM];
    /// How long a client may not recover a key after its writer has synced it.
    OZONE_OM_LEASE_SOFT_LIMIT: Duration = "ozone.om.lease.soft.limit", "60s", [OM];
    /// Age at which OM itself closes a key that was synced and not closed.
    OZONE_OM_LEASE_HARD_LIMIT: Duration = "ozone.om.lease.hard.limit", "7d", [OM];
    /// Judge every request by administrators, owners and ACLs; SCM and DataNodes judge their verbs
    /// of administration by administrators. Ozone enforces ACLs only in a secure cluster, or when
    /// ozone.acl.authorizer.class names the native authorizer; here this key is enough.
    OZONE_ACL_ENABLED: bool = "ozone.acl.enabled", "false", [OM, SCM, DATANODE];
    /// The judge when ACLs are enabled: `native` (also by its Java class name,
    /// OzoneNativeAuthorizer), or OzoneAccessAuthorizer, which allows everything.
    OZONE_ACL_AUTHORIZER_CLASS: String = "ozone.acl.authorizer.class", "native", [OM];
    /// Whether everybody may list all volumes.
    OZONE_OM_VOLUME_LISTALL_ALLOWED: bool = "ozone.om.volume.listall.allowed", "true", [OM];
    /// Users who may see and change everybody's S3 secrets, separated by commas; the administrators
    /// when neither this nor its groups are set.
    OZONE_S3_ADMINISTRATORS: Vec<String> = "ozone.s3.administrators", "", [OM];
    /// Groups whose members may see and change everybody's S3 secrets.
    OZONE_S3_ADMINISTRATORS_GROUPS: Vec<String> = "ozone.s3.administrators.groups", "", [OM];
    /// Users who may see everything, whatever ACLs say.
    OZONE_READONLY_ADMINISTRATORS: Vec<String> = "ozone.readonly.administrators", "", [OM, SCM];
    /// Groups whose members may see everything, whatever ACLs say.
    OZONE_READONLY_ADMINISTRATORS_GROUPS: Vec<String> = "ozone.readonly.administrators.groups", "", [OM, SCM];
    /// Users who may do nothing, even if they are administrators.
    OZONE_BLACKLIST_USERS: Vec<String> = "ozone.blacklist.users", "", [OM];
    /// Groups whose members may do nothing.
    OZONE_BLACKLIST_GROUPS: Vec<String> = "ozone.blacklist.groups", "", [OM];
    /// Users who may see nothing, even if they are administrators.
    OZONE_READ_BLACKLIST_USERS: Vec<String> = "ozone.read.blacklist.users", "", [OM];
    /// Groups whose members may see nothing.
    OZONE_READ_BLACKLIST_GROUPS: Vec<String> = "ozone.read.blacklist.groups", "", [OM];
}
