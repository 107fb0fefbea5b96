//! The rules' view of the tables.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use proto::ozone::{BucketInfo, DirectoryInfo, VolumeInfo};

use crate::error::ViewError;
use crate::state::chain::Chains;
use crate::state::row::{self, Bucket};
use crate::tables::{Table, volume_key};

/// A consistent view of all tables.
pub trait View {
    /// The value of a row.
    ///
    /// # Errors
    /// When the store fails.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ViewError>;

    /// Calls `each` with every row from `start` (inclusive) to `end` (exclusive) in key order,
    /// until it breaks.
    ///
    /// # Errors
    /// When the store fails.
    #[allow(clippy::type_complexity)]
    fn scan(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ViewError>;

    /// Returns `true` if there is such a row. Stores that can check without reading the value
    /// override it.
    ///
    /// # Errors
    /// When the store fails.
    fn exists(&self, table: Table, key: &[u8]) -> Result<bool, ViewError> {
        Ok(self.get(table, key)?.is_some())
    }

    /// The bucket at `/volume/bucket`. Every key command reads it: views cache decoded buckets and
    /// override this.
    ///
    /// # Errors
    /// When the store fails or the row is damaged.
    fn bucket(&self, bucket_key: &[u8]) -> Result<Option<Bucket>, ViewError> {
        let Some(info) = get::<BucketInfo>(self, Table::BucketTable, bucket_key)? else {
            return Ok(None);
        };
        let bucket = Bucket::new(info);
        if !bucket.is_tree() {
            return Ok(Some(bucket));
        }
        let key = volume_key(&bucket.volume_name);
        let volume = get::<VolumeInfo>(self, Table::VolumeTable, &key)?;
        Ok(Some(bucket.in_volume(volume.and_then(|v| v.object_id))))
    }

    /// The volume whose row is at `volume_key`. Every authorized request reads it: views cache
    /// decoded volumes and override this.
    ///
    /// # Errors
    /// When the store fails or the row is damaged.
    fn volume(&self, volume_key: &[u8]) -> Result<Option<Arc<VolumeInfo>>, ViewError> {
        Ok(get(self, Table::VolumeTable, volume_key)?.map(Arc::new))
    }

    /// The directory whose row is at `row`. Paths are resolved through it, so views cache decoded
    /// directories and override this.
    ///
    /// # Errors
    /// When the store fails or the row is damaged.
    fn directory(&self, row: &[u8]) -> Result<Option<Arc<DirectoryInfo>>, ViewError> {
        Ok(get(self, Table::DirectoryTable, row)?.map(Arc::new))
    }

    /// The snapshots of all buckets. Every write reads them: views cache them and override this.
    ///
    /// # Errors
    /// When the store fails.
    fn snapshots(&self) -> Result<Arc<Chains>, ViewError> {
        Ok(Arc::new(read_snapshots(self)?))
    }
}

impl<V: View + ?Sized> View for &V {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ViewError> {
        (**self).get(table, key)
    }

    fn scan(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ViewError> {
        (**self).scan(table, start, end, each)
    }

    fn exists(&self, table: Table, key: &[u8]) -> Result<bool, ViewError> {
        (**self).exists(table, key)
    }

    fn bucket(&self, bucket_key: &[u8]) -> Result<Option<Bucket>, ViewError> {
        (**self).bucket(bucket_key)
    }

    fn volume(&self, volume_key: &[u8]) -> Result<Option<Arc<VolumeInfo>>, ViewError> {
        (**self).volume(volume_key)
    }

    fn directory(&self, row: &[u8]) -> Result<Option<Arc<DirectoryInfo>>, ViewError> {
        (**self).directory(row)
    }

    fn snapshots(&self) -> Result<Arc<Chains>, ViewError> {
        (**self).snapshots()
    }
}

/// The snapshots of all buckets as the rows of `view` say.
///
/// # Errors
/// When the store fails.
pub fn read_snapshots(view: &(impl View + ?Sized)) -> Result<Chains, ViewError> {
    let mut chains = Chains::default();
    view.scan(Table::SnapshotTable, b"", None, &mut |key, value| {
        chains.change(key, Some(value));
        ControlFlow::Continue(())
    })?;
    Ok(chains)
}

/// A view for one request, which caches the last key row that it read: if rights are checked, a key
/// is read for its ACLs first and then for the answer.
pub(crate) struct Remembering<'a> {
    view: &'a dyn View,
    last: RefCell<Option<Read>>,
}

/// A row that was read.
struct Read {
    table: Table,
    key: Vec<u8>,
    value: Option<Bytes>,
}

impl<'a> Remembering<'a> {
    pub fn new(view: &'a dyn View) -> Self {
        Self { view, last: RefCell::new(None) }
    }
}

impl View for Remembering<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ViewError> {
        if !matches!(table, Table::KeyTable | Table::FileTable) {
            return self.view.get(table, key);
        }
        let mut last = self.last.borrow_mut();
        if let Some(read) = &*last
            && read.table == table
            && read.key == key
        {
            return Ok(read.value.clone());
        }
        let value = self.view.get(table, key)?;
        *last = Some(Read { table, key: key.to_vec(), value: value.clone() });
        Ok(value)
    }

    fn scan(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ViewError> {
        self.view.scan(table, start, end, each)
    }

    fn exists(&self, table: Table, key: &[u8]) -> Result<bool, ViewError> {
        self.view.exists(table, key)
    }

    fn bucket(&self, bucket_key: &[u8]) -> Result<Option<Bucket>, ViewError> {
        self.view.bucket(bucket_key)
    }

    fn volume(&self, volume_key: &[u8]) -> Result<Option<Arc<VolumeInfo>>, ViewError> {
        self.view.volume(volume_key)
    }

    fn directory(&self, row: &[u8]) -> Result<Option<Arc<DirectoryInfo>>, ViewError> {
        self.view.directory(row)
    }
}

/// The row at `key` as message `M`.
pub(crate) fn get<M: Message + Default>(
    view: &(impl View + ?Sized),
    table: Table,
    key: &[u8],
) -> Result<Option<M>, ViewError> {
    view.get(table, key)?.map(|value| row::decode(table, key, value)).transpose()
}

/// The row, or `None` if it is damaged. For commands that only clean up: a refusal would be retried
/// for ever, and all commands in the same batch, too.
pub(crate) fn unless_damaged<T>(
    read: Result<Option<T>, ViewError>,
) -> Result<Option<T>, ViewError> {
    match read {
        Err(ViewError::Damaged { .. }) => Ok(None),
        other => other,
    }
}
