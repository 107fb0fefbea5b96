//! Rows as messages: decoding, and the bucket row in the form that commands change it.

use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use proto::ozone::{BucketInfo, BucketLayoutProto};

use crate::error::ViewError;
use crate::tables::Table;

/// `value` as message `M`; `bytes` fields share the value's memory.
pub(crate) fn decode<M: Message + Default>(
    table: Table,
    key: &[u8],
    value: Bytes,
) -> Result<M, ViewError> {
    M::decode(value).map_err(|e| damaged(table, key, &e))
}

/// Like [`decode`] for borrowed bytes.
pub(crate) fn decode_slice<M: Message + Default>(
    table: Table,
    key: &[u8],
    value: &[u8],
) -> Result<M, ViewError> {
    M::decode(value).map_err(|e| damaged(table, key, &e))
}

pub(crate) fn damaged(table: Table, key: &[u8], cause: &dyn std::fmt::Display) -> ViewError {
    ViewError::Damaged {
        table,
        key: String::from_utf8_lossy(key).into_owned(),
        cause: cause.to_string(),
    }
}

/// A message as the value of a row.
pub(crate) fn encode(message: &impl Message) -> Bytes {
    Bytes::from(message.encode_to_vec())
}

/// A bucket's row. The counters, which nearly every command changes, are separate from the rest,
/// which nearly none changes and which is shared: a changed bucket costs no copy of its names
/// and ACLs, and is encoded once however many commands of a round changed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    info: Arc<BucketInfo>,
    /// Object id of its volume, if it was read: rows of FILE_SYSTEM_OPTIMIZED buckets
    /// begin with it.
    volume_id: Option<u64>,
    /// Replicated bytes of live keys and of parts of multipart uploads under way.
    pub used_bytes: u64,
    /// Live keys.
    pub used_namespace: u64,
    /// Replicated bytes of deleted keys whose blocks are not purged yet.
    pub snapshot_used_bytes: u64,
    /// Deleted keys that are not purged yet.
    pub snapshot_used_namespace: u64,
}

impl Bucket {
    /// The bucket of a decoded row.
    pub fn new(info: BucketInfo) -> Self {
        Self {
            used_bytes: info.used_bytes.unwrap_or(0),
            used_namespace: info.used_namespace.unwrap_or(0),
            snapshot_used_bytes: info.snapshot_used_bytes.unwrap_or(0),
            snapshot_used_namespace: info.snapshot_used_namespace.unwrap_or(0),
            info: Arc::new(info),
            volume_id: None,
        }
    }

    /// The bucket with its volume's object id.
    #[must_use]
    pub fn in_volume(mut self, volume_id: Option<u64>) -> Self {
        self.volume_id = volume_id;
        self
    }

    /// Object id of the bucket's volume, if it was read.
    pub fn volume_id(&self) -> Option<u64> {
        self.volume_id
    }

    /// Returns `true` if paths of the bucket's keys are resolved directory by directory.
    pub fn is_tree(&self) -> bool {
        self.layout() == BucketLayoutProto::FileSystemOptimized
    }

    /// This bucket with another message.
    #[must_use]
    pub fn with_info(&self, info: BucketInfo) -> Self {
        Self::new(info).in_volume(self.volume_id)
    }

    /// The row's message, counters included.
    pub fn to_info(&self) -> BucketInfo {
        let mut info = BucketInfo::clone(&self.info);
        info.used_bytes = Some(self.used_bytes);
        info.used_namespace = Some(self.used_namespace);
        info.snapshot_used_bytes = Some(self.snapshot_used_bytes);
        info.snapshot_used_namespace = Some(self.snapshot_used_namespace);
        info
    }

    /// The row's value.
    pub fn encode(&self) -> Bytes {
        encode(&self.to_info())
    }

    /// Returns `true` if the bucket is a link to another.
    pub fn is_link(&self) -> bool {
        self.info.source_volume.is_some() && self.info.source_bucket.is_some()
    }

    /// Layout of the bucket's keys; rows of old times without one are LEGACY.
    pub fn layout(&self) -> BucketLayoutProto {
        self.info
            .bucket_layout
            .and_then(|l| BucketLayoutProto::try_from(l).ok())
            .unwrap_or(BucketLayoutProto::Legacy)
    }
}

/// The row's fields; its counters are the ones of the last encoding, use the bucket's own.
impl Deref for Bucket {
    type Target = BucketInfo;

    fn deref(&self) -> &BucketInfo {
        &self.info
    }
}
