//! The object that an ACL command is about: `/volume[/bucket[/key]]`, or `/volume/bucket/prefix/`.

use std::sync::Arc;

use proto::ozone::ozone_obj::ObjectType;
use proto::ozone::{DirectoryInfo, KeyInfo, OzoneAclInfo, OzoneObj, PrefixInfo, VolumeInfo};

use crate::authorizer::{Path, pass_on, prefix_above};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::{bucket, volume};
use crate::state::key_row::KeyRow;
use crate::state::row::Bucket;
use crate::state::view::{self, View};
use crate::tables::{self, Table};

/// An object with its loaded ACLs.
pub(super) enum Object {
    Volume(Box<VolumeInfo>),
    Bucket(Bucket),
    Key(KeyRow, Box<KeyInfo>),
    /// A prefix is there as long as it has ACLs.
    Prefix {
        row: Vec<u8>,
        info: Box<PrefixInfo>,
        stored: bool,
    },
    Directory(Vec<u8>, Arc<DirectoryInfo>),
}

/// Checks the path of a change, and replaces a link's names by those of the bucket proper: a change
/// of a link's ACLs is one of its source's (Ozone: `OMBucketAclRequest`).
pub(super) fn prepare(
    obj: &mut OzoneObj,
    modification_time: &mut Option<u64>,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    *modification_time = Some(ctx.now_ms);
    let resolved = |volume: &str, bucket: &str| {
        let (mut v, mut b) = (volume.to_owned(), bucket.to_owned());
        bucket::resolve(ctx.view, &mut v, &mut b).map(|_| format!("/{v}/{b}"))
    };
    obj.path = match Path::of(obj)? {
        Path::Volume { .. } => return Ok(()),
        Path::Bucket { volume, bucket } => resolved(volume, bucket)?,
        Path::Key { volume, bucket, key } => format!("{}/{key}", resolved(volume, bucket)?),
    };
    Ok(())
}

impl Object {
    pub fn find(view: &dyn View, obj: &OzoneObj) -> Result<Self, OmError> {
        match Path::of(obj)? {
            Path::Volume { volume } => Ok(Self::Volume(Box::new(volume::find(view, volume)?))),
            Path::Bucket { volume, bucket } => {
                Ok(Self::Bucket(bucket::find(view, volume, bucket)?))
            }
            Path::Key { volume, bucket, key: prefix } if is_prefix(obj) => {
                find_prefix(view, volume, bucket, prefix)
            }
            Path::Key { volume, bucket, key } => {
                let key_row = KeyRow::of(view, volume, bucket, key)?;
                if let Some(info) = key_row.committed(view)? {
                    return Ok(Self::Key(key_row, Box::new(info)));
                }
                match view.directory(&key_row.key)? {
                    Some(directory) => Ok(Self::Directory(key_row.key, directory)),
                    None => Err(OmError::key_not_found(volume, bucket, key)),
                }
            }
        }
    }

    pub fn acls(&self) -> &[OzoneAclInfo] {
        match self {
            Self::Volume(info) => &info.volume_acls,
            Self::Bucket(bucket) => &bucket.acls,
            Self::Key(_, info) => &info.acls,
            Self::Prefix { info, .. } => &info.acls,
            Self::Directory(_, directory) => &directory.acls,
        }
    }

    /// Writes the object with other ACLs.
    pub fn store(self, cx: &mut ApplyContext<'_>, acls: Vec<OzoneAclInfo>, now: Option<u64>) {
        let index = Some(cx.tx.index);
        match self {
            Self::Volume(mut info) => {
                info.volume_acls = acls;
                info.modification_time = now.or(info.modification_time);
                info.update_id = index;
                cx.put(Table::VolumeTable, tables::volume_key(&info.volume), &*info);
            }
            Self::Bucket(bucket) => {
                let mut info = bucket.to_info();
                info.acls = acls;
                info.modification_time = now.or(info.modification_time);
                info.update_id = index;
                let key = tables::bucket_key(&info.volume_name, &info.bucket_name);
                cx.put_bucket(key, bucket.with_info(info));
            }
            Self::Key(key_row, mut info) => {
                info.acls = acls;
                info.modification_time = now.unwrap_or(info.modification_time);
                info.update_id = index;
                key_row.put_committed(cx, *info);
            }
            Self::Directory(row, directory) => {
                let mut directory = DirectoryInfo::clone(&directory);
                directory.acls = acls;
                directory.modification_time = now.unwrap_or(directory.modification_time);
                directory.update_id = cx.tx.index;
                cx.put(Table::DirectoryTable, row, &directory);
            }
            Self::Prefix { row, .. } if acls.is_empty() => cx.delete(Table::PrefixTable, row),
            Self::Prefix { row, mut info, .. } => {
                info.acls = acls;
                info.object_id.get_or_insert(cx.object_id());
                info.update_id = index;
                cx.put(Table::PrefixTable, row, &*info);
            }
        }
    }

    /// ACLs that a prefix inherits with its first ACLs: the default entries of the nearest prefix
    /// that has any, else of the bucket.
    pub fn from_above(&self, view: &dyn View) -> Result<Vec<OzoneAclInfo>, OmError> {
        let Self::Prefix { info, stored: false, .. } = self else { return Ok(Vec::new()) };
        let mut acls = Vec::new();
        let name = info.name.trim_start_matches('/');
        let mut parts = name.splitn(3, '/');
        let (Some(volume), Some(bucket), Some(key)) = (parts.next(), parts.next(), parts.next())
        else {
            return Ok(acls);
        };
        let above = prefix_above(view, volume, bucket, key)?;
        if !above.is_some_and(|prefix| pass_on(&mut acls, &prefix.acls)) {
            pass_on(&mut acls, &bucket::find(view, volume, bucket)?.acls);
        }
        Ok(acls)
    }

    /// Returns `true` for a prefix without stored ACLs: there are none to remove.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Prefix { stored: false, .. })
    }
}

fn is_prefix(obj: &OzoneObj) -> bool {
    obj.res_type == ObjectType::Prefix as i32
}

fn find_prefix(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    prefix: &str,
) -> Result<Object, OmError> {
    bucket::find(view, volume, bucket)?;
    let name = prefix.trim_end_matches('/');
    let row = tables::prefix_key(volume, bucket, name);
    let found: Option<PrefixInfo> = view::get(view, Table::PrefixTable, &row)?;
    let stored = found.is_some();
    let info = found.unwrap_or_else(|| PrefixInfo {
        name: format!("/{volume}/{bucket}/{name}/"),
        ..PrefixInfo::default()
    });
    Ok(Object::Prefix { row, info: Box::new(info), stored })
}
