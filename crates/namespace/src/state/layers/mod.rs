//! Snapshots of buckets, by copy on first write.
//!
//! A snapshot is a row, and stands for the bucket as it is after the log entry that makes it: the
//! entry's index is the snapshot's. Nothing is copied then. From there on the first change of a row
//! of the keyTable, fileTable or directoryTable after a bucket's newest snapshot stores the
//! previous row, or its absence, in that snapshot's *layer* ([`keep`](keep::keep)). Snapshot S
//! shows the version of a row in the first layer from S on, else the row itself ([`as_of`]).
//!
//! Blocks have a life: a version of a key is the key's since the entry that commits it
//! (`committedAt`) until the entry that discards it. The snapshots in between show it, however
//! often its row was renamed or changed meanwhile. So a discarded version that the newest snapshot
//! shows is kept for that one ([`retain`](retain::retain)), instead of going to the deletedTable;
//! the sizes of kept versions are added up ([`usage`]). When the snapshot is deleted, the version
//! moves on to the snapshot before it, if that shows it, too (`snapshot/purge.rs`). A snapshot can
//! be deleted wherever it stands, and no snapshot needs another one's files.
//!
//! A deleted snapshot is taken apart in bounded steps. Until that is done its layer serves the
//! snapshots before it; new changes go to the layers of active snapshots only.

pub(crate) mod as_of;
pub(crate) mod keep;
pub(crate) mod retain;
pub(crate) mod rows;
pub(crate) mod usage;

use crate::error::OmError;
use crate::state::row::Bucket;
use crate::state::tree::Tree;
use crate::state::view::View;
use crate::tables::object_key;

/// Prefix of the rows of a bucket, after a byte for the kind of layout: names and ids never meet.
pub(crate) fn scope(view: &dyn View, bucket: &Bucket) -> Result<Vec<u8>, OmError> {
    let (kind, prefix) = match bucket.is_tree() {
        true => (rows::TREE, Tree::of(view, bucket)?.prefix().to_vec()),
        false => (rows::FLAT, object_key(&bucket.volume_name, &bucket.bucket_name, "")),
    };
    Ok([&[kind], prefix.as_slice()].concat())
}
