//! Row of a new key, and the directories that it needs.

pub(crate) mod legacy;
pub(crate) mod parents;

use proto::ozone::{BucketLayoutProto, KeyArgs};

use self::parents::{Origin, Parents};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::find::bucket;
use crate::state::key_row::KeyRow;
use crate::state::row::Bucket;
use crate::state::tree::Tree;
use crate::state::tree::lookup::lookup;

/// Directories that there must be before the key can be.
pub(crate) enum NewParents {
    /// Keys of this bucket are in no directory.
    None,
    /// Rows of the directoryTable.
    Directories(Parents),
    /// Keys that end with a slash.
    Keys(legacy::Parents),
}

impl NewParents {
    /// Number of directories to create.
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Directories(parents) => parents.len(),
            Self::Keys(parents) => parents.len(),
        }
    }

    /// Makes them, and counts them in the bucket.
    pub fn create(
        &self,
        cx: &mut ApplyContext<'_>,
        key_row: &mut KeyRow,
        args: &KeyArgs,
    ) -> Result<(), OmError> {
        if self.len() == 0 {
            return Ok(());
        }
        match self {
            Self::None => {}
            Self::Directories(parents) => {
                let tree = Tree::of(cx.view, &key_row.bucket)?;
                parents.create(cx, &tree, &mut key_row.bucket, &Origin::of(args));
            }
            Self::Keys(parents) => parents.create(cx, &mut key_row.bucket, args),
        }
        cx.put_bucket(key_row.bucket_key().to_vec(), key_row.bucket.clone());
        Ok(())
    }
}

/// Row of the new key of `args`. `legacy_paths`: a LEGACY bucket has directories for this command.
///
/// # Errors
/// When there is a directory already, or a file where a directory would be needed.
pub(crate) fn of_new(
    args: &KeyArgs,
    legacy_paths: bool,
    cx: &ApplyContext<'_>,
) -> Result<(KeyRow, NewParents), OmError> {
    let bucket = bucket::find(cx.view, &args.volume_name, &args.bucket_name)?;
    match bucket.layout() {
        BucketLayoutProto::FileSystemOptimized => in_tree(args, bucket, cx),
        BucketLayoutProto::Legacy if legacy_paths => {
            let parents = legacy::Parents::of_file(cx.view, args)?;
            Ok((KeyRow::of_args(cx.view, args)?, NewParents::Keys(parents)))
        }
        _ => Ok((KeyRow::of_args(cx.view, args)?, NewParents::None)),
    }
}

fn in_tree(
    args: &KeyArgs,
    bucket: Bucket,
    cx: &ApplyContext<'_>,
) -> Result<(KeyRow, NewParents), OmError> {
    let key = &args.key_name;
    let tree = Tree::of(cx.view, &bucket)?;
    let lookup = lookup(&tree, key)?;
    if lookup.is_blocked(&tree)? {
        return Err(file_in_path(key));
    }
    let parents = Parents::of(&lookup, cx.object_id())?;
    let key_row = KeyRow::in_tree(&tree, bucket, key, parents.last_id());
    if parents.len() == 0 && tree.directory(parents.last_id(), lookup.leaf)?.is_some() {
        return Err(directory_at(key));
    }
    Ok((key_row, NewParents::Directories(parents)))
}

/// The refusal of a key where a directory is.
pub(crate) fn directory_at(key: &str) -> OmError {
    OmError::NotAFile(format!(
        "Cannot write to directory. createIntermediateDirs behavior is enabled and hence / has \
         special interpretation: {key}"
    ))
}

/// The refusal of a path with a file in place of a directory.
pub(crate) fn file_in_path(key: &str) -> OmError {
    OmError::NotAFile(format!(
        "Can not create file: {key} as there is already file in the given path"
    ))
}

/// The refusal of a directory where a file is.
pub(crate) fn file_exists(args: &KeyArgs, file: &str) -> OmError {
    OmError::FileExists(format!(
        "Unable to create directory: {key} in volume/bucket: {volume}/{bucket} as \
         file:/{volume}/{bucket}/{file} already exists",
        key = args.key_name,
        volume = args.volume_name,
        bucket = args.bucket_name,
    ))
}

/// # Errors
/// When the bucket has no directories.
pub(crate) fn require_paths(bucket: &Bucket) -> Result<(), OmError> {
    match bucket.layout() {
        BucketLayoutProto::ObjectStore => Err(OmError::NotSupported(format!(
            "Operation is not supported in bucket {}/{}, whose layout is OBJECT_STORE",
            bucket.volume_name, bucket.bucket_name
        ))),
        _ => Ok(()),
    }
}
