//! The ACLs that keys and sessions have in their tables.

use proto::ozone::{KeyInfo, OzoneAclInfo, PrefixInfo};

use crate::error::OmError;
use crate::key::place::Place;
use crate::row;
use crate::tables::{self, Table};
use crate::view::View;

/// ACLs of a committed key, if it is there.
pub(super) fn acls_of_key(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    key: &str,
) -> Result<Option<Vec<OzoneAclInfo>>, OmError> {
    let place = Place::of(view, volume, bucket, key)?;
    Ok(place.committed(view)?.map(|info| info.acls))
}

/// ACLs of a key being written, named `key/clientID`, if there is such a session.
pub(super) fn acls_of_session(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    session: &str,
) -> Result<Option<Vec<OzoneAclInfo>>, OmError> {
    let place = Place::of(view, volume, bucket, session)?;
    let open: Option<KeyInfo> = row::get(view, Place::OPEN, &place.key)?;
    Ok(open.map(|info| info.acls))
}

/// The longest prefix above `key` that has ACLs: what new keys inherit from.
pub(super) fn prefix_above(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    key: &str,
) -> Result<Option<PrefixInfo>, OmError> {
    let mut above = key.trim_end_matches('/');
    while let Some((parent, _)) = above.rsplit_once('/') {
        let row = tables::prefix_key(volume, bucket, parent);
        if let Some(prefix) = row::get(view, Table::PrefixTable, &row)? {
            return Ok(Some(prefix));
        }
        above = parent;
    }
    Ok(None)
}
