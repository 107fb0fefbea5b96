//! Rows of a key. The one place that depends on the bucket's layout: in a flat bucket the row is
//! named after the key, in a FILE_SYSTEM_OPTIMIZED one after the directory that the path leads to.
//! The submodules have operations of several commands on those rows.

pub(crate) mod atomic;
pub(crate) mod checksum;
pub(crate) mod garbage;
pub(crate) mod hsync;
pub(crate) mod remove;

use std::borrow::Cow;

use bytes::Bytes;
use proto::ozone::{BucketLayoutProto, KeyArgs, KeyInfo, MultipartKeyInfo};

use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::bucket;
use crate::state::limits;
use crate::state::row::{self, Bucket};
use crate::state::tree::lookup::lookup;
use crate::state::tree::{Tree, directory, path};
use crate::state::view::{self, View};
use crate::tables::{self, Table};

/// A key's bucket, tables and row key.
pub(crate) struct KeyRow {
    /// The bucket as it is now; commands change its counters here and put it back.
    pub bucket: Bucket,
    /// Row key of the committed key.
    pub key: Vec<u8>,
    bucket_key_len: usize,
    node: Option<Node>,
}

/// The pair of tables that a key's rows are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyTables {
    /// Of OBS and LEGACY buckets.
    Flat,
    /// Of FILE_SYSTEM_OPTIMIZED buckets.
    Tree,
}

impl KeyTables {
    /// Table of committed keys.
    pub const fn committed(self) -> Table {
        match self {
            Self::Flat => Table::KeyTable,
            Self::Tree => Table::FileTable,
        }
    }

    /// Table of keys being written.
    pub const fn open(self) -> Table {
        match self {
            Self::Flat => Table::OpenKeyTable,
            Self::Tree => Table::OpenFileTable,
        }
    }
}

/// A key of a tree.
struct Node {
    /// `/volume/bucket/path`
    object_key: Vec<u8>,
    /// Object id of the directory it is in.
    parent_id: u64,
}

impl KeyRow {
    /// Row of `key`, links followed.
    pub fn of(view: &dyn View, volume: &str, bucket: &str, key: &str) -> Result<Self, OmError> {
        let row = tables::object_key(volume, bucket, key);
        let bucket_key = tables::bucket_of(&row, volume, bucket);
        let found = bucket::at(view, bucket_key, volume, bucket)?;
        if found.is_link() {
            let (mut volume, mut bucket) = (volume.to_owned(), bucket.to_owned());
            bucket::resolve(view, &mut volume, &mut bucket)?;
            return Self::of(view, &volume, &bucket, key);
        }
        if found.is_tree() {
            let tree = Tree::of(view, &found)?;
            let parent_id = lookup(&tree, key)?.parent_id().ok_or_else(|| no_parent(key))?;
            return Ok(Self::in_tree(&tree, found, key, parent_id));
        }
        let bucket_key_len = bucket_key.len();
        Ok(Self { bucket: found, key: row, bucket_key_len, node: None })
    }

    /// Row of the key of `args`.
    pub fn of_args(view: &dyn View, args: &KeyArgs) -> Result<Self, OmError> {
        Self::of(view, &args.volume_name, &args.bucket_name, &args.key_name)
    }

    /// Row of a key of a tree with this parent, be it there or not yet.
    pub fn in_tree(tree: &Tree<'_>, bucket: Bucket, key: &str, parent_id: u64) -> Self {
        let key = path::normalize(key);
        let row = tree.row(parent_id, path::split(&key).1);
        let object_key = tables::object_key(&bucket.volume_name, &bucket.bucket_name, &key);
        let bucket_key_len =
            tables::bucket_of(&object_key, &bucket.volume_name, &bucket.bucket_name).len();
        Self { bucket, key: row, bucket_key_len, node: Some(Node { object_key, parent_id }) }
    }

    /// Row of the key of an upload, and of its parts while they are written: in the directory that
    /// the upload began in, even if that was moved.
    pub fn of_upload(
        view: &dyn View,
        args: &KeyArgs,
        upload: &MultipartKeyInfo,
    ) -> Result<Self, OmError> {
        let bucket = bucket::find(view, &args.volume_name, &args.bucket_name)?;
        match upload.parent_id {
            Some(parent_id) if bucket.is_tree() => {
                let tree = Tree::of(view, &bucket)?;
                Ok(Self::in_tree(&tree, bucket, &args.key_name, parent_id))
            }
            _ => Self::of_args(view, args),
        }
    }

    /// The tables of the key.
    pub fn key_tables(&self) -> KeyTables {
        if self.node.is_some() { KeyTables::Tree } else { KeyTables::Flat }
    }

    /// `/volume/bucket/key`, independent of the name of the row.
    pub fn object_key(&self) -> &[u8] {
        self.node.as_ref().map_or(&self.key, |node| &node.object_key)
    }

    /// Row key of the bucket.
    pub fn bucket_key(&self) -> &[u8] {
        &self.object_key()[..self.bucket_key_len]
    }

    /// Object id of the bucket.
    pub fn bucket_id(&self) -> u64 {
        self.bucket.object_id.unwrap_or_default()
    }

    /// Object id of the directory that the key is in, in a tree.
    pub fn parent_id(&self) -> Option<u64> {
        self.node.as_ref().map(|node| node.parent_id)
    }

    /// The committed key, if there is one.
    pub fn committed(&self, view: &dyn View) -> Result<Option<KeyInfo>, OmError> {
        self.committed_row(view)?.map(|row| self.decode(row)).transpose()
    }

    /// The row of the committed key, if there is one. In a tree it has the key's last name only:
    /// [`decode`](Self::decode), [`path`](Self::path).
    pub fn committed_row(&self, view: &dyn View) -> Result<Option<Bytes>, OmError> {
        Ok(view.get(self.key_tables().committed(), &self.key)?)
    }

    /// The key that its row in the table of committed keys has.
    pub fn decode(&self, row: Bytes) -> Result<KeyInfo, OmError> {
        let mut key = row::decode(self.key_tables().committed(), &self.key, row)?;
        self.name(&mut key);
        Ok(key)
    }

    /// The key's whole name where its row has the last one only.
    pub fn path(&self) -> Option<&[u8]> {
        let node = self.node.as_ref()?;
        node.object_key.get(self.bucket_key_len.saturating_add(1)..)
    }

    /// Returns `true` if there is a committed key.
    pub fn exists(&self, view: &dyn View) -> Result<bool, OmError> {
        Ok(view.exists(self.key_tables().committed(), &self.key)?)
    }

    /// The key being written in session row `open_key`, if there is one.
    pub fn open(&self, view: &dyn View, open_key: &[u8]) -> Result<Option<KeyInfo>, OmError> {
        let mut key = view::get(view, self.key_tables().open(), open_key)?;
        key.iter_mut().for_each(|key| self.name(key));
        Ok(key)
    }

    /// The directory that is where the key would be, as a key whose name ends with a slash.
    pub fn directory(&self, view: &dyn View) -> Result<Option<KeyInfo>, OmError> {
        let Some(path) = self.path() else { return Ok(None) };
        let Some(found) = view.directory(&self.key)? else { return Ok(None) };
        let name = format!("{}/", String::from_utf8_lossy(path));
        Ok(Some(directory::as_key(&found, &self.bucket, name)))
    }

    /// Returns `true` if the key's path is a directory, that of a LEGACY bucket included: a key
    /// whose name ends with a slash.
    pub fn is_directory(&self, view: &dyn View) -> Result<bool, OmError> {
        Ok(match self.bucket.layout() {
            BucketLayoutProto::FileSystemOptimized => {
                view.exists(Table::DirectoryTable, &self.key)?
            }
            BucketLayoutProto::Legacy => {
                view.exists(Table::KeyTable, &[self.key.as_slice(), b"/"].concat())?
            }
            BucketLayoutProto::ObjectStore => false,
        })
    }

    /// The committed key.
    pub fn existing(&self, view: &dyn View, args: &KeyArgs) -> Result<KeyInfo, OmError> {
        self.committed(view)?.ok_or_else(|| {
            OmError::key_not_found(&args.volume_name, &args.bucket_name, &args.key_name)
        })
    }

    /// Writes the committed key.
    pub fn put_committed(self, cx: &mut ApplyContext<'_>, key: KeyInfo) {
        let key = self.unnamed(Cow::Owned(key));
        cx.put(self.key_tables().committed(), self.key, &*key);
    }

    /// Writes the committed key, and the bucket with its counters as they are now.
    pub fn put_with_bucket(self, cx: &mut ApplyContext<'_>, key: KeyInfo) {
        cx.put_bucket(self.bucket_key().to_vec(), self.bucket.clone());
        self.put_committed(cx, key);
    }

    /// # Errors
    /// When a directory is where the key would be.
    pub fn check_no_directory(&self, view: &dyn View, key: &str) -> Result<(), OmError> {
        if self.node.is_some() && view.exists(Table::DirectoryTable, &self.key)? {
            return Err(OmError::NotAFile(format!("Can not write to directory: {key}")));
        }
        Ok(())
    }

    /// Writes the key being written in session row `open_key`.
    pub fn put_open(&self, cx: &mut ApplyContext<'_>, open_key: Vec<u8>, key: &KeyInfo) {
        cx.put(self.key_tables().open(), open_key, &*self.unnamed(Cow::Borrowed(key)));
    }

    /// The end of a session.
    pub fn delete_open(&self, cx: &mut ApplyContext<'_>, open_key: Vec<u8>) {
        cx.delete(self.key_tables().open(), open_key);
    }

    /// Gives a key from a row its name in requests.
    fn name(&self, key: &mut KeyInfo) {
        if let Some(path) = self.path() {
            key.key_name = String::from_utf8_lossy(path).into_owned();
        }
    }

    /// A key as its row has it: in a tree, with its last name only.
    fn unnamed<'k>(&self, mut key: Cow<'k, KeyInfo>) -> Cow<'k, KeyInfo> {
        if let Some(node) = &self.node {
            let key = key.to_mut();
            key.key_name = path::split(&key.key_name).1.to_owned();
            key.parent_id = Some(node.parent_id);
        }
        key
    }
}

/// The refusal of a path that ends before its last name.
pub(crate) fn no_parent(path: &str) -> OmError {
    OmError::DirectoryNotFound(format!("Failed to find parent directory of {path}"))
}

/// The leader's part for every command on a key: the names become those of the bucket proper,
/// and a path loses its slashes too many.
///
/// # Errors
/// When the bucket does not exist, or the request is invalid.
pub(crate) fn resolve_names(
    args: &mut KeyArgs,
    ctx: &PrepareContext<'_>,
) -> Result<Bucket, OmError> {
    limits::check_key(args)?;
    let bucket = bucket::resolve(ctx.view, &mut args.volume_name, &mut args.bucket_name)?;
    if ctx.settings.has_paths(&bucket) {
        path::normalize_in_place(&mut args.key_name);
    }
    Ok(bucket)
}
