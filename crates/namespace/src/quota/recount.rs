//! Correct values of a bucket's counters, from the rows they count.

use std::ops::ControlFlow;

use bytes::Bytes;
use proto::ozone::{
    BucketLayoutProto, BucketQuotaCount, KeyArgs, KeyInfo, MultipartKeyInfo, VolumeInfo,
};

use crate::error::{OmError, ViewError};
use crate::state::find::upload;
use crate::state::row;
use crate::state::scan::try_scan;
use crate::state::usage::replicated_size;
use crate::state::view::{self, View};
use crate::tables::{Table, bucket_key, object_key, prefix_end, volume_key};

/// Corrections of the counters of a bucket: values to add to them. `view` must not change while it
/// is read; concurrent writes change the counters and the counted rows alike.
///
/// # Errors
/// When there is no such bucket, or the tables cannot be read.
pub fn recount(
    view: &dyn View,
    volume: &str,
    bucket: &str,
) -> Result<Option<BucketQuotaCount>, OmError> {
    let Some(recorded) = view.bucket(&bucket_key(volume, bucket))? else {
        return Err(OmError::bucket_not_found(volume, bucket));
    };
    if recorded.is_link() {
        return Ok(None);
    }
    let mut counted = Counted::default();
    let names = object_key(volume, bucket, "");
    if recorded.layout() == BucketLayoutProto::FileSystemOptimized {
        let info: Option<VolumeInfo> = view::get(view, Table::VolumeTable, &volume_key(volume))?;
        let volume_id = info.and_then(|v| v.object_id).unwrap_or_default().cast_signed();
        let bucket_id = recorded.object_id.unwrap_or_default().cast_signed();
        let ids = format!("/{volume_id}/{bucket_id}/").into_bytes();
        counted.keys(view, Table::FileTable, &ids)?;
        each(view, Table::DirectoryTable, &ids, |_, _| {
            counted.names = counted.names.saturating_add(1);
            Ok(())
        })?;
    } else {
        counted.keys(view, Table::KeyTable, &names)?;
    }
    counted.parts(view, &names)?;
    let difference = |counted: u64, recorded: u64| counted.wrapping_sub(recorded).cast_signed();
    Ok(Some(BucketQuotaCount {
        vol_name: volume.to_owned(),
        bucket_name: bucket.to_owned(),
        diff_used_bytes: difference(counted.bytes, recorded.used_bytes),
        diff_used_namespace: difference(counted.names, recorded.used_namespace),
        support_old_quota: false,
    }))
}

#[derive(Default)]
struct Counted {
    bytes: u64,
    names: u64,
}

impl Counted {
    fn keys(&mut self, view: &dyn View, table: Table, prefix: &[u8]) -> Result<(), OmError> {
        each(view, table, prefix, |key, value| {
            let info: KeyInfo = row::decode(table, key, value)?;
            self.bytes = self.bytes.saturating_add(replicated_size(&info));
            self.names = self.names.saturating_add(1);
            Ok(())
        })
    }

    /// Parts of uploads under way.
    fn parts(&mut self, view: &dyn View, names: &[u8]) -> Result<(), OmError> {
        let mut uploads = Vec::new();
        each(view, Table::MultipartInfoTable, names, |key, value| {
            uploads.push(row::decode::<MultipartKeyInfo>(Table::MultipartInfoTable, key, value)?);
            Ok(())
        })?;
        let nameless = KeyArgs::default();
        for info in uploads {
            for (_, part) in upload::parts(view, &info.upload_id)? {
                let size = upload::part_size(&info, &part, &nameless);
                self.bytes = self.bytes.saturating_add(size);
            }
        }
        Ok(())
    }
}

/// Calls `visit` with the rows whose keys begin with `prefix`.
fn each(
    view: &dyn View,
    table: Table,
    prefix: &[u8],
    mut visit: impl FnMut(&[u8], Bytes) -> Result<(), ViewError>,
) -> Result<(), OmError> {
    try_scan(view, table, prefix, prefix_end(prefix).as_deref(), &mut |key, value| {
        visit(key, Bytes::copy_from_slice(value))?;
        Ok(ControlFlow::Continue(()))
    })
}
