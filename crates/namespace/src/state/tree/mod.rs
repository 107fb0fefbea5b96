//! The tree of a FILE_SYSTEM_OPTIMIZED bucket: directories are rows of the directoryTable, files
//! of the fileTable, each under its parent's object id and its own name. So a directory is renamed
//! or deleted with all that is in it by changing one row, and a path is resolved name by name.
//!
//! [`Tree`] has the keys of rows, [`lookup`](lookup::lookup) follows a path, [`find`](find::find)
//! returns its end. Invariant: a name within a directory is a file or a directory, never both.

pub(crate) mod child;
pub(crate) mod directory;
pub(crate) mod find;
pub(crate) mod lookup;
pub(crate) mod path;

use std::ops::ControlFlow;
use std::sync::Arc;

use proto::ozone::{DirectoryInfo, KeyInfo, VolumeInfo};

use crate::error::OmError;
use crate::state::row::Bucket;
use crate::state::view::{self, View};
use crate::tables::{self, Table, volume_key};

/// A bucket's tree in the tables.
pub(crate) struct Tree<'a> {
    pub view: &'a dyn View,
    /// Object id of the bucket: the parent of its top level.
    pub bucket_id: u64,
    prefix: Vec<u8>,
}

impl<'a> Tree<'a> {
    /// The tree of `bucket`.
    pub fn of(view: &'a dyn View, bucket: &Bucket) -> Result<Self, OmError> {
        let volume_id = match bucket.volume_id() {
            Some(id) => id,
            None => {
                let key = volume_key(&bucket.volume_name);
                view::get::<VolumeInfo>(view, Table::VolumeTable, &key)?
                    .and_then(|volume| volume.object_id)
                    .ok_or_else(|| OmError::VolumeNotFound(bucket.volume_name.clone()))?
            }
        };
        Ok(Self::by_ids(view, volume_id, bucket.object_id.unwrap_or_default()))
    }

    /// The tree of the bucket with these ids, which may have been deleted itself.
    pub fn by_ids(view: &'a dyn View, volume_id: u64, bucket_id: u64) -> Self {
        let prefix = tables::tree_prefix(volume_id, bucket_id);
        Self { view, bucket_id, prefix }
    }

    /// Prefix of all rows of the tree.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Row key of a name in a directory.
    pub fn row(&self, parent_id: u64, name: &str) -> Vec<u8> {
        tables::path_key(&self.prefix, parent_id, name)
    }

    /// The directory of that name.
    pub fn directory(
        &self,
        parent_id: u64,
        name: &str,
    ) -> Result<Option<Arc<DirectoryInfo>>, OmError> {
        Ok(self.view.directory(&self.row(parent_id, name))?)
    }

    /// The file of that name, as its row has it.
    pub fn file(&self, parent_id: u64, name: &str) -> Result<Option<KeyInfo>, OmError> {
        Ok(view::get(self.view, Table::FileTable, &self.row(parent_id, name))?)
    }

    /// Returns `true` if there is a file of that name.
    pub fn has_file(&self, parent_id: u64, name: &str) -> Result<bool, OmError> {
        Ok(self.view.exists(Table::FileTable, &self.row(parent_id, name))?)
    }

    /// Returns `true` if a directory has children.
    pub fn has_children(&self, directory_id: u64) -> Result<bool, OmError> {
        let first = self.row(directory_id, "");
        Ok(any(self.view, Table::FileTable, &first)?
            || any(self.view, Table::DirectoryTable, &first)?)
    }
}

/// Returns `true` if a table has a row with the prefix.
pub(super) fn any(view: &dyn View, table: Table, prefix: &[u8]) -> Result<bool, OmError> {
    let mut found = false;
    view.scan(table, prefix, tables::prefix_end(prefix).as_deref(), &mut |_, _| {
        found = true;
        ControlFlow::Break(())
    })?;
    Ok(found)
}
