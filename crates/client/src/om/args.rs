//! Arguments of [`Client`](crate::Client) calls: keys, buckets, listings.

use proto::hdds::KeyValue;
use proto::ozone::{BucketLayoutProto, KeyArgs};
use types::ReplicationConfig;

/// Path of a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyPath {
    /// Volume name.
    pub volume: String,
    /// Bucket name.
    pub bucket: String,
    /// Key name.
    pub key: String,
}

impl KeyPath {
    /// The key `key` of `/volume/bucket`.
    pub fn new(
        volume: impl Into<String>,
        bucket: impl Into<String>,
        key: impl Into<String>,
    ) -> Self {
        Self { volume: volume.into(), bucket: bucket.into(), key: key.into() }
    }

    pub(crate) fn args(&self) -> KeyArgs {
        KeyArgs {
            volume_name: self.volume.clone(),
            bucket_name: self.bucket.clone(),
            key_name: self.key.clone(),
            ..Default::default()
        }
    }
}

impl std::fmt::Display for KeyPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "/{}/{}/{}", self.volume, self.bucket, self.key)
    }
}

/// Precondition of the creation or deletion of a key. OM checks it atomically with the operation:
/// for a creation when the key is opened and again when it is committed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Precondition {
    /// Nothing.
    #[default]
    None,
    /// The key does not exist (else `KEY_ALREADY_EXISTS`).
    Absent,
    /// The key exists and its last update is this one (else `KEY_NOT_FOUND`).
    Generation(u64),
    /// The key exists with this ETag (else `ETAG_MISMATCH`).
    ETag(String),
}

impl Precondition {
    pub(crate) fn put_into(&self, args: &mut KeyArgs) {
        match self {
            Self::None => {}
            Self::Absent => args.expected_data_generation = Some(0),
            Self::Generation(generation) => args.expected_data_generation = Some(*generation),
            Self::ETag(etag) => args.expected_e_tag = Some(etag.clone()),
        }
    }
}

/// A part of a multipart upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOf {
    /// The upload.
    pub upload_id: String,
    /// The part number, 1 to 10,000.
    pub part_number: u32,
}

/// Options of opening a file for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOptions {
    /// Create missing parent directories.
    pub recursive: bool,
    /// Replace an existing file.
    pub overwrite: bool,
}

/// A key to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateKey {
    /// Its path.
    pub path: KeyPath,
    /// Its expected size; OM preallocates blocks for it.
    pub size_hint: u64,
    /// Replication; by default the bucket's or the cluster's.
    pub replication: Option<ReplicationConfig>,
    /// User metadata.
    pub metadata: Vec<(String, String)>,
    /// Object tags.
    pub tags: Vec<(String, String)>,
    /// Precondition.
    pub precondition: Precondition,
    /// Set for a part of a multipart upload.
    pub part: Option<PartOf>,
    /// Set for a file, in a bucket that has directories.
    pub file: Option<FileOptions>,
}

impl CreateKey {
    /// A key of unknown size with defaults for everything else.
    pub fn new(path: KeyPath) -> Self {
        Self {
            path,
            size_hint: 0,
            replication: None,
            metadata: Vec::new(),
            tags: Vec::new(),
            precondition: Precondition::None,
            part: None,
            file: None,
        }
    }

    /// Sets the expected `size`.
    pub fn size_hint(mut self, size: u64) -> Self {
        self.size_hint = size;
        self
    }

    /// Sets the `replication`.
    pub fn replication(mut self, replication: ReplicationConfig) -> Self {
        self.replication = Some(replication);
        self
    }

    /// Sets the `metadata`.
    pub fn metadata(mut self, metadata: Vec<(String, String)>) -> Self {
        self.metadata = metadata;
        self
    }

    /// Sets the `tags`.
    pub fn tags(mut self, tags: Vec<(String, String)>) -> Self {
        self.tags = tags;
        self
    }

    /// Sets the `precondition`.
    pub fn only_if(mut self, precondition: Precondition) -> Self {
        self.precondition = precondition;
        self
    }

    /// Creates a file, in a bucket that has directories.
    pub fn as_file(mut self, options: FileOptions) -> Self {
        self.file = Some(options);
        self
    }

    /// Creates a part of a multipart upload.
    pub fn part_of(mut self, upload_id: impl Into<String>, part_number: u32) -> Self {
        self.part = Some(PartOf { upload_id: upload_id.into(), part_number });
        self
    }

    pub(crate) fn args(&self) -> KeyArgs {
        let mut args = self.path.args();
        args.data_size = Some(self.size_hint);
        set_replication(&mut args, self.replication.as_ref());
        args.metadata = pairs_to_wire(&self.metadata);
        args.tags = pairs_to_wire(&self.tags);
        self.precondition.put_into(&mut args);
        if let Some(part) = &self.part {
            args.is_multipart_key = Some(true);
            args.multipart_upload_id = Some(part.upload_id.clone());
            args.multipart_number = Some(part.part_number);
        }
        args
    }
}

/// A bucket to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketSpec {
    /// Its layout; by default OM's default.
    pub layout: Option<BucketLayoutProto>,
    /// Replication of its keys; by default the cluster's.
    pub replication: Option<ReplicationConfig>,
    /// Maximum bytes of its keys, replicas included; -1 for no limit.
    pub quota_in_bytes: i64,
    /// Maximum number of its keys; -1 for no limit.
    pub quota_in_namespace: i64,
    /// Owner; by default the caller.
    pub owner: Option<String>,
    /// User metadata.
    pub metadata: Vec<(String, String)>,
    /// Source volume and bucket if this is a link.
    pub link_to: Option<(String, String)>,
}

impl Default for BucketSpec {
    fn default() -> Self {
        Self {
            layout: None,
            replication: None,
            quota_in_bytes: -1,
            quota_in_namespace: -1,
            owner: None,
            metadata: Vec::new(),
            link_to: None,
        }
    }
}

/// A listing of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListKeys {
    /// Volume name.
    pub volume: String,
    /// Bucket name.
    pub bucket: String,
    /// Only keys that begin with this.
    pub prefix: String,
    /// Only keys after this one.
    pub start_after: String,
}

impl ListKeys {
    /// All keys of `/volume/bucket`.
    pub fn new(volume: impl Into<String>, bucket: impl Into<String>) -> Self {
        Self {
            volume: volume.into(),
            bucket: bucket.into(),
            prefix: String::new(),
            start_after: String::new(),
        }
    }

    /// Only keys that begin with `prefix`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Only keys after `key`.
    pub fn start_after(mut self, key: impl Into<String>) -> Self {
        self.start_after = key.into();
        self
    }
}

pub(crate) fn set_replication(args: &mut KeyArgs, replication: Option<&ReplicationConfig>) {
    if let Some(replication) = replication {
        args.r#type = Some(replication.wire_type() as i32);
        args.factor = replication.wire_factor().map(|f| f as i32);
        args.ec_replication_config = replication.wire_ec();
    }
}

pub(crate) fn pairs_to_wire(pairs: &[(String, String)]) -> Vec<KeyValue> {
    pairs
        .iter()
        .map(|(key, value)| KeyValue { key: key.clone(), value: Some(value.clone()) })
        .collect()
}

pub(crate) fn pairs_from_wire(pairs: Vec<KeyValue>) -> Vec<(String, String)> {
    pairs.into_iter().map(|pair| (pair.key, pair.value.unwrap_or_default())).collect()
}
