//! Buckets: create, info, change, list, delete.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, Stream, TryStreamExt};
use proto::hdds::{DefaultReplicationConfig, StorageTypeProto};
use proto::ozone::ozone_acl_info::{OzoneAclScope, OzoneAclType};
use proto::ozone::{self as om, BucketInfo, OzoneAclInfo};
use types::ReplicationConfig;

use crate::om::args::{BucketSpec, pairs_to_wire};
use crate::om::command::{CreateBucket, DeleteBucket, InfoBucket, ListBuckets, SetBucketProperty};
use crate::{Client, Error, Result};

/// Changes of a bucket; `None` leaves a property unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BucketChange {
    /// New owner.
    pub owner: Option<String>,
    /// Maximum bytes; -1 for no limit.
    pub quota_in_bytes: Option<i64>,
    /// Maximum number of keys; -1 for no limit.
    pub quota_in_namespace: Option<i64>,
    /// Replication of new keys.
    pub replication: Option<ReplicationConfig>,
    /// Metadata to add or replace.
    pub metadata: Vec<(String, String)>,
}

fn default_replication(config: &ReplicationConfig) -> DefaultReplicationConfig {
    DefaultReplicationConfig {
        r#type: config.wire_type() as i32,
        factor: config.wire_factor().map(|f| f as i32),
        ec_replication_config: config.wire_ec(),
    }
}

/// READ and WRITE, as bits 0 and 1 of a set of rights.
const READ_WRITE: &[u8] = &[0x03];

/// ACL of links, which allows all users to follow them, since it cannot be changed later. The ACLs
/// of the source protect the data. Ozone: `OzoneAcl.LINK_BUCKET_DEFAULT_ACL`.
fn acl_of_links() -> OzoneAclInfo {
    OzoneAclInfo {
        r#type: OzoneAclType::World as i32,
        name: OzoneAclType::World.as_str_name().to_owned(),
        rights: Bytes::from_static(READ_WRITE),
        acl_scope: OzoneAclScope::Access as i32,
    }
}

/// The bucket in its creation request.
fn to_create(volume: &str, bucket: &str, spec: BucketSpec, user: &str) -> BucketInfo {
    let acls = spec.link_to.is_some().then(acl_of_links).into_iter().collect();
    let (source_volume, source_bucket) = spec.link_to.unzip();
    BucketInfo {
        volume_name: volume.to_owned(),
        bucket_name: bucket.to_owned(),
        acls,
        is_version_enabled: false,
        storage_type: StorageTypeProto::Disk as i32,
        metadata: pairs_to_wire(&spec.metadata),
        quota_in_bytes: Some(spec.quota_in_bytes),
        quota_in_namespace: Some(spec.quota_in_namespace),
        bucket_layout: spec.layout.map(|layout| layout as i32),
        owner: Some(spec.owner.unwrap_or_else(|| user.to_owned())),
        default_replication_config: spec.replication.as_ref().map(default_replication),
        source_volume,
        source_bucket,
        ..Default::default()
    }
}

impl Client {
    /// Creates a bucket.
    ///
    /// # Errors
    /// `BUCKET_ALREADY_EXISTS`, `VOLUME_NOT_FOUND`, `INVALID_BUCKET_NAME`, or a failure to reach
    /// OM.
    pub fn create_bucket<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        spec: BucketSpec,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let info = to_create(volume, bucket, spec, self.user());
            self.om::<CreateBucket>(&om::CreateBucketRequest { bucket_info: info }).await.map(drop)
        })
    }

    /// All information about a bucket.
    ///
    /// # Errors
    /// `BUCKET_NOT_FOUND`, `VOLUME_NOT_FOUND`, or a failure to reach OM.
    pub fn bucket_info<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
    ) -> BoxFuture<'a, Result<BucketInfo>> {
        Box::pin(async move {
            let request = om::InfoBucketRequest {
                volume_name: volume.to_owned(),
                bucket_name: bucket.to_owned(),
            };
            let reply = self.om::<InfoBucket>(&request).await?;
            reply.bucket_info.ok_or_else(|| Error::om_reply("no bucket in InfoBucket"))
        })
    }

    /// Changes owner, quotas, replication or metadata of a bucket.
    ///
    /// # Errors
    /// `BUCKET_NOT_FOUND`, or a failure to reach OM.
    pub fn change_bucket<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        change: BucketChange,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let args = om::BucketArgs {
                volume_name: volume.to_owned(),
                bucket_name: bucket.to_owned(),
                owner_name: change.owner,
                quota_in_bytes: change.quota_in_bytes.map(|q| q as u64),
                quota_in_namespace: change.quota_in_namespace.map(|q| q as u64),
                default_replication_config: change.replication.as_ref().map(default_replication),
                metadata: pairs_to_wire(&change.metadata),
                ..Default::default()
            };
            let request =
                om::SetBucketPropertyRequest { bucket_args: Some(args), ..Default::default() };
            self.om::<SetBucketProperty>(&request).await.map(drop)
        })
    }

    /// Deletes an empty bucket.
    ///
    /// # Errors
    /// `BUCKET_NOT_FOUND`, `BUCKET_NOT_EMPTY`, or a failure to reach OM.
    pub fn delete_bucket<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::DeleteBucketRequest {
                volume_name: volume.to_owned(),
                bucket_name: bucket.to_owned(),
            };
            self.om::<DeleteBucket>(&request).await.map(drop)
        })
    }

    /// One page of buckets after `start_after`; empty at the end.
    ///
    /// # Errors
    /// `VOLUME_NOT_FOUND`, or a failure to reach OM.
    pub fn list_buckets_page<'a>(
        &'a self,
        volume: &'a str,
        prefix: &'a str,
        start_after: &'a str,
        count: u32,
    ) -> BoxFuture<'a, Result<Vec<BucketInfo>>> {
        Box::pin(async move {
            let request = om::ListBucketsRequest {
                volume_name: volume.to_owned(),
                start_key: Some(start_after.to_owned()),
                prefix: Some(prefix.to_owned()),
                count: Some(i32::try_from(count).unwrap_or(i32::MAX)),
                has_snapshot: None,
            };
            Ok(self.om::<ListBuckets>(&request).await?.bucket_info)
        })
    }

    /// All buckets of a volume, page by page.
    pub fn list_buckets<'a>(
        &'a self,
        volume: &'a str,
        prefix: &'a str,
        start_after: &str,
    ) -> impl Stream<Item = Result<BucketInfo>> + Send + 'a {
        let count = self.options().list_page;
        stream::try_unfold(Some(start_after.to_owned()), move |after| async move {
            let Some(after) = after else { return Ok::<_, Error>(None) };
            let page = self.list_buckets_page(volume, prefix, &after, count).await?;
            let Some(last) = page.last() else { return Ok(None) };
            let next = (page.len() >= count as usize).then(|| last.bucket_name.clone());
            Ok(Some((stream::iter(page.into_iter().map(Ok)), next)))
        })
        .try_flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_may_go_through_a_link() {
        let link_to = Some(("vol1".to_owned(), "bucket1".to_owned()));
        let spec = BucketSpec { link_to, ..BucketSpec::default() };
        let link = to_create("vol2", "link", spec, "ann");
        assert_eq!(link.acls, [acl_of_links()]);
        assert_eq!(link.source_bucket.as_deref(), Some("bucket1"));
        assert_eq!(to_create("vol2", "plain", BucketSpec::default(), "ann").acls, []);
    }
}
