//! Settings that rules depend on, as values; the server fills them in when it starts.

mod allowed_replications;
mod authorization;

use proto::ozone::BucketLayoutProto;
use types::{ReplicationConfig, StoragePolicy};

use crate::state::row::Bucket;

pub use allowed_replications::AllowedReplications;
pub use authorization::Authorization;

/// Settings of the OM, used by `prepare` and `read` only: settings that `apply` needs are in the
/// prepared request.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `ozone.scm.block.size`, bytes.
    pub block_size: u64,
    /// `ozone.key.preallocation.max.blocks`
    pub preallocation_max_blocks: u32,
    /// `ozone.default.bucket.layout`, for buckets created without one.
    pub default_bucket_layout: BucketLayoutProto,
    /// `ozone.server.default.replication` and `.type`.
    pub default_replication: ReplicationConfig,
    /// `ozone.replication.allowed-configs`: replications that keys and buckets may request.
    pub allowed_replications: AllowedReplications,
    /// `ozone.default.storagepolicy`, for keys whose bucket has none.
    pub default_storage_policy: Option<StoragePolicy>,
    /// `ozone.om.multipart.min.part.size`, bytes: every part but the last one.
    pub min_multipart_part_size: u64,
    /// `ozone.s3g.volume.name`: where buckets of S3 live.
    pub s3_volume: String,
    /// `ozone.om.user.max.volume`
    pub user_max_volumes: u32,
    /// `ozone.om.max.buckets`, of all volumes.
    pub max_buckets: u64,
    /// `ozone.om.namespace.s3.strict`: names must be valid S3 bucket names; otherwise they may
    /// have underscores too.
    pub strict_s3_names: bool,
    /// `ozone.om.keyname.character.check.enabled`
    pub check_key_name_characters: bool,
    /// `ozone.om.server.list.max.size`: most entries of one page.
    pub list_max_size: u32,
    /// `ozone.fs.hsync.enabled` and `ozone.hbase.enhancements.allowed`: true if keys may be synced
    /// before they are closed.
    pub hsync: bool,
    /// `ozone.om.lease.soft.limit`, milliseconds: time for which a client must not recover a synced
    /// key from its writer.
    pub lease_soft_limit_ms: u64,
    /// Rights of users.
    pub authorization: Authorization,
    /// `ozone.fs.listing.page.size.max`: most entries of one page of a directory.
    pub directory_list_max_size: u32,
    /// `ozone.om.enable.filesystem.paths`: keys of LEGACY buckets are paths with directories.
    pub filesystem_paths: bool,
    /// `ozone.filesystem.snapshot.enabled`
    pub snapshots: bool,
    /// `ozone.om.fs.snapshot.max.limit`: most snapshots of all buckets.
    pub snapshot_limit: usize,
    /// `ozone.om.snapshot.rename.allowed`
    pub snapshot_rename: bool,
}

impl Settings {
    /// Returns `true` if the keys of `bucket` are paths with directories for every command, not
    /// only for those of the file system.
    pub(crate) fn has_paths(&self, bucket: &Bucket) -> bool {
        match bucket.layout() {
            BucketLayoutProto::FileSystemOptimized => true,
            BucketLayoutProto::Legacy => self.filesystem_paths,
            BucketLayoutProto::ObjectStore => false,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            block_size: 256 << 20,
            preallocation_max_blocks: 64,
            default_bucket_layout: BucketLayoutProto::ObjectStore,
            default_replication: ReplicationConfig::RATIS_THREE,
            allowed_replications: AllowedReplications::default(),
            default_storage_policy: None,
            min_multipart_part_size: 5 << 20,
            s3_volume: "s3v".to_owned(),
            user_max_volumes: 1024,
            max_buckets: 100_000,
            strict_s3_names: true,
            check_key_name_characters: false,
            list_max_size: 1000,
            hsync: false,
            lease_soft_limit_ms: 60_000,
            authorization: Authorization::default(),
            directory_list_max_size: 5000,
            filesystem_paths: false,
            snapshots: true,
            snapshot_limit: 10_000,
            snapshot_rename: false,
        }
    }
}
