//! Reading volume rows.

use proto::ozone::VolumeInfo;

use crate::error::OmError;
use crate::state::view::{self, View};
use crate::tables::{Table, volume_key};

/// The volume of that name.
pub(crate) fn find(view: &dyn View, volume: &str) -> Result<VolumeInfo, OmError> {
    view::get(view, Table::VolumeTable, &volume_key(volume))?
        .ok_or_else(|| OmError::VolumeNotFound(volume.to_owned()))
}
