//! PurgeDirectories: deleted directories are taken apart, a batch at a time. Files move to the
//! deletedTable, sub-directories to the deletedDirectoryTable, and an empty directory is removed
//! permanently.

use std::collections::{BTreeMap, HashSet};

use proto::ozone::{
    BucketInfo, BucketNameInfo, KeyInfo, OmResponse, PurgeDirectoriesRequest,
    PurgeDirectoriesResponse, PurgePathRequest, Type,
};

use super::delete;
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::row::Bucket;
use crate::state::tree::find::{Entry, Found};
use crate::state::tree::{Tree, path};
use crate::state::view;
use crate::tables::{Table, bucket_key};

pub(crate) struct PurgeDirectories;

impl Command for PurgeDirectories {
    const TYPE: Type = Type::PurgeDirectories;
    const AUDIT: &'static str = "PURGE_DIRECTORIES";
    const RIGHTS: Rights<PurgeDirectoriesRequest> = Rights::Om;
    request_part!(purge_directories_request: PurgeDirectoriesRequest);

    fn audit(request: &PurgeDirectoriesRequest) -> AuditParams {
        vec![("directories", request.deleted_path.len().to_string())]
    }
}

impl Write for PurgeDirectories {
    const PREPARE: Decision<PurgeDirectoriesRequest> = Decision::Nothing;

    fn apply(
        request: PurgeDirectoriesRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        if request.snapshot_table_key.as_deref().is_some_and(|key| !key.is_empty()) {
            return Err(OmError::NotSupported("purging directories of a snapshot".to_owned()));
        }
        let mut purge = Purge {
            names: request.bucket_name_infos,
            buckets: BTreeMap::new(),
            done: HashSet::new(),
        };
        for path in request.deleted_path {
            purge.path(cx, path)?;
        }
        for (_, (key, bucket)) in purge.buckets {
            if let Some(key) = key {
                cx.put_bucket(key, bucket);
            }
        }
        let mut r = response::ok(Type::PurgeDirectories);
        r.purge_directories_response = Some(Box::new(PurgeDirectoriesResponse {}));
        Ok(r)
    }
}

struct Purge {
    names: Vec<BucketNameInfo>,
    /// Buckets by id, with the keys of their rows; `None` for a deleted bucket, or one with a
    /// damaged row, whose counters are not read.
    buckets: BTreeMap<u64, (Option<Vec<u8>>, Bucket)>,
    /// Rows that this transaction took away, which the view still shows.
    done: HashSet<Vec<u8>>,
}

impl Purge {
    fn path(&mut self, cx: &mut ApplyContext<'_>, path: PurgePathRequest) -> Result<(), OmError> {
        let tree = Tree::by_ids(cx.view, path.volume_id, path.bucket_id);
        self.load(cx, path.bucket_id)?;
        let Some((_, bucket)) = self.buckets.get_mut(&path.bucket_id) else { return Ok(()) };
        for child in path.mark_deleted_sub_dirs.into_iter().chain(path.deleted_sub_files) {
            let Some(found) = find(&tree, &child)? else { continue };
            if self.done.insert(found.row.clone()) {
                delete::remove_found(cx, bucket, found, &child.key_name)?;
            }
        }
        let Some(row) = path.deleted_dir.map(String::into_bytes) else { return Ok(()) };
        cx.delete(Table::DeletedDirectoryTable, row);
        Ok(())
    }

    fn load(&mut self, cx: &ApplyContext<'_>, bucket_id: u64) -> Result<(), OmError> {
        if self.buckets.contains_key(&bucket_id) {
            return Ok(());
        }
        let names = self.names.iter().find(|names| names.bucket_id == Some(bucket_id));
        let (volume, name) = match names {
            Some(names) => (
                names.volume_name.clone().unwrap_or_default(),
                names.bucket_name.clone().unwrap_or_default(),
            ),
            None => return Err(OmError::missing("BucketNameInfo")),
        };
        let key = bucket_key(&volume, &name);
        let found = view::unless_damaged(cx.view.bucket(&key))?;
        let live = found.filter(|bucket| bucket.object_id == Some(bucket_id));
        let entry = match live {
            Some(bucket) => (Some(key), bucket),
            None => {
                let info = BucketInfo {
                    volume_name: volume,
                    bucket_name: name,
                    object_id: Some(bucket_id),
                    ..BucketInfo::default()
                };
                (None, Bucket::new(info))
            }
        };
        self.buckets.insert(bucket_id, entry);
        Ok(())
    }
}

/// The file or directory that `child` names by its parent's id, its own id and its name.
fn find(tree: &Tree<'_>, child: &KeyInfo) -> Result<Option<Found>, OmError> {
    let (Some(parent_id), Some(id)) = (child.parent_id, child.object_id) else { return Ok(None) };
    let name = path::split(&child.key_name).1;
    let row = tree.row(parent_id, name);
    if child.is_file != Some(false)
        && let Some(mut file) = tree.file(parent_id, name)?
    {
        child.key_name.clone_into(&mut file.key_name);
        let entry = Entry::File(Box::new(file));
        return Ok(Some(Found { row, entry, parent: None }));
    }
    let directory = tree.view.directory(&row)?.filter(|directory| directory.object_id == id);
    Ok(directory.map(|directory| Found { row, entry: Entry::Directory(directory), parent: None }))
}
