//! Where the rows of a key are. The one place that depends on the bucket's layout: path
//! resolution of FILE_SYSTEM_OPTIMIZED buckets belongs here.

use proto::ozone::{KeyArgs, KeyInfo};

use crate::bucket::find;
use crate::error::OmError;
use crate::prepare::PrepareContext;
use crate::row::{self, Bucket};
use crate::tables::{self, Table};
use crate::view::View;

/// A key's bucket, tables and row key.
pub(crate) struct Place {
    /// The bucket as it is now; commands change its counters here and put it back.
    pub bucket: Bucket,
    /// Row key of the committed key.
    pub key: Vec<u8>,
    bucket_key_len: usize,
}

impl Place {
    /// Table of committed keys.
    pub const COMMITTED: Table = Table::KeyTable;
    /// Table of keys being written.
    pub const OPEN: Table = Table::OpenKeyTable;

    /// Where `key` is, links followed.
    pub fn of(view: &dyn View, volume: &str, bucket: &str, key: &str) -> Result<Self, OmError> {
        let row = tables::object_key(volume, bucket, key);
        let bucket_key = tables::bucket_of(&row, volume, bucket);
        let found = find::at(view, bucket_key, volume, bucket)?;
        if found.is_link() {
            let (mut volume, mut bucket) = (volume.to_owned(), bucket.to_owned());
            find::resolve(view, &mut volume, &mut bucket)?;
            return Self::of(view, &volume, &bucket, key);
        }
        find::require_flat(&found)?;
        let bucket_key_len = bucket_key.len();
        Ok(Self { bucket: found, key: row, bucket_key_len })
    }

    /// Where the key of `args` is.
    pub fn of_args(view: &dyn View, args: &KeyArgs) -> Result<Self, OmError> {
        Self::of(view, &args.volume_name, &args.bucket_name, &args.key_name)
    }

    /// Row key of the bucket.
    pub fn bucket_key(&self) -> &[u8] {
        &self.key[..self.bucket_key_len]
    }

    /// Object id of the bucket.
    pub fn bucket_id(&self) -> u64 {
        self.bucket.object_id.unwrap_or_default()
    }

    /// The committed key, if there is one.
    pub fn committed(&self, view: &dyn View) -> Result<Option<KeyInfo>, OmError> {
        Ok(row::get(view, Self::COMMITTED, &self.key)?)
    }

    /// The committed key.
    pub fn existing(&self, view: &dyn View, args: &KeyArgs) -> Result<KeyInfo, OmError> {
        self.committed(view)?.ok_or_else(|| {
            OmError::key_not_found(&args.volume_name, &args.bucket_name, &args.key_name)
        })
    }
}

/// The leader's part for every command on a key: the names become those of the bucket proper.
pub(crate) fn settle(args: &mut KeyArgs, ctx: &PrepareContext<'_>) -> Result<Bucket, OmError> {
    let bucket = find::resolve(ctx.view, &mut args.volume_name, &mut args.bucket_name)?;
    find::require_flat(&bucket)?;
    Ok(bucket)
}
