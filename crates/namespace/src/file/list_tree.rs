//! Listing one directory of a tree.

use std::ops::ControlFlow;

use prost::Message;

use crate::error::OmError;
use crate::file::list_status::{Directory, Each, Listed, Page};
use crate::state::context::ReadContext;
use crate::state::row::Bucket;
use crate::state::tree::Tree;
use crate::state::tree::child::{Child, Range, children};
use crate::state::tree::find::{Entry, find};

/// Calls `each` with the children of the directory of `page`, or with the file that has its path.
pub(crate) fn walk(
    cx: &ReadContext<'_>,
    bucket: &Bucket,
    page: &Page<'_>,
    each: &mut Each<'_>,
) -> Result<(), OmError> {
    let tree = Tree::of(cx.view, bucket)?;
    let id = match page.directory {
        "" => tree.bucket_id,
        path => match find(&tree, path)?.map(|found| found.entry) {
            Some(Entry::Directory(directory)) => directory.object_id,
            Some(Entry::File(file)) => {
                let row = file.encode_to_vec();
                return each(Listed::File { path, row: &row }).map(drop);
            }
            None if !page.name_prefix.is_empty() => return Ok(()),
            None => return Err(not_found(bucket, path)),
        },
    };
    let range = Range { prefix: page.name_prefix, start: page.start };
    let mut path = String::with_capacity(page.directory.len().saturating_add(64));
    path.push_str(page.directory);
    if !path.is_empty() {
        path.push('/');
    }
    let parent = path.len();
    children(&tree, id, &range, &mut |child| -> Result<ControlFlow<()>, OmError> {
        path.truncate(parent);
        match child {
            Child::File { name, row } => {
                path.push_str(name);
                each(Listed::File { path: &path, row })
            }
            Child::Directory(directory) => {
                path.push_str(&directory.name);
                each(Listed::Directory { path: path.clone(), entry: Directory::Row(&directory) })
            }
        }
    })
}

/// The refusal of a list of a missing path.
pub(crate) fn not_found(bucket: &Bucket, path: &str) -> OmError {
    OmError::FileNotFound(format!(
        "Unable to list status: volume: {} bucket: {} key: {path}",
        bucket.volume_name, bucket.bucket_name
    ))
}
