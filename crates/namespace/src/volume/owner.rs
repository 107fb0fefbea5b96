//! The userTable: which volumes a user owns.

use proto::ozone::UserVolumeInfo;

use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::view::{self, View};
use crate::tables::Table;

/// The row of `user`, if they own any volume.
pub(super) fn volumes_of(view: &dyn View, user: &str) -> Result<Option<UserVolumeInfo>, OmError> {
    Ok(view::get(view, Table::UserTable, user.as_bytes())?)
}

/// `user` owns `volume` from now on.
pub(super) fn add(
    cx: &mut ApplyContext<'_>,
    user: &str,
    volume: &str,
    object_id: u64,
) -> Result<(), OmError> {
    let mut row = volumes_of(cx.view, user)?.unwrap_or_default();
    if !row.volume_names.iter().any(|v| v == volume) {
        row.volume_names.push(volume.to_owned());
    }
    row.object_id.get_or_insert(object_id);
    row.update_id = Some(cx.tx.index);
    cx.put(Table::UserTable, user.as_bytes().to_vec(), &row);
    Ok(())
}

/// `user` does not own `volume` any more.
pub(super) fn remove(cx: &mut ApplyContext<'_>, user: &str, volume: &str) -> Result<(), OmError> {
    let Some(mut row) = volumes_of(cx.view, user)? else { return Ok(()) };
    row.volume_names.retain(|v| v != volume);
    if row.volume_names.is_empty() {
        cx.delete(Table::UserTable, user.as_bytes().to_vec());
    } else {
        row.update_id = Some(cx.tx.index);
        cx.put(Table::UserTable, user.as_bytes().to_vec(), &row);
    }
    Ok(())
}
