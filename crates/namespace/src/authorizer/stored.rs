//! The ACLs that keys and sessions have in their tables.

use proto::ozone::{OzoneAclInfo, PrefixInfo};

use crate::error::OmError;
use crate::state::key_row::KeyRow;
use crate::state::view::{self, View};
use crate::tables::{self, Table};

/// The ACLs of a `KeyInfo` alone: the rest of the row is skipped.
#[derive(Clone, PartialEq, prost::Message)]
struct KeyAcls {
    #[prost(message, repeated, tag = "13")]
    acls: Vec<OzoneAclInfo>,
}

/// ACLs of a committed key, if it is there.
pub(super) fn acls_of_key(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    key: &str,
) -> Result<Option<Vec<OzoneAclInfo>>, OmError> {
    let key_row = match KeyRow::of(view, volume, bucket, key) {
        Err(OmError::DirectoryNotFound(_)) => return Ok(None),
        key_row => key_row?,
    };
    let row: Option<KeyAcls> = view::get(view, key_row.key_tables().committed(), &key_row.key)?;
    match row {
        Some(row) => Ok(Some(row.acls)),
        None => Ok(view.directory(&key_row.key)?.map(|directory| directory.acls.clone())),
    }
}

/// ACLs of a key being written, named `key/clientID`, if there is such a session.
pub(super) fn acls_of_session(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    session: &str,
) -> Result<Option<Vec<OzoneAclInfo>>, OmError> {
    let Some((key, id)) = session.rsplit_once('/') else { return Ok(None) };
    let key_row = match KeyRow::of(view, volume, bucket, key) {
        Err(OmError::DirectoryNotFound(_)) => return Ok(None),
        key_row => key_row?,
    };
    let open = key_row.open(view, &tables::multipart_key(&key_row.key, id))?;
    Ok(open.map(|info| info.acls))
}

/// The longest prefix above `key` that has ACLs: new keys inherit from it.
pub(crate) fn prefix_above(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    key: &str,
) -> Result<Option<PrefixInfo>, OmError> {
    let mut above = key.trim_end_matches('/');
    while let Some((parent, _)) = above.rsplit_once('/') {
        let row = tables::prefix_key(volume, bucket, parent);
        if let Some(prefix) = view::get(view, Table::PrefixTable, &row)? {
            return Ok(Some(prefix));
        }
        above = parent;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use proto::ozone::KeyInfo;

    use super::*;

    #[test]
    fn the_acls_of_a_key_are_read_without_the_rest() {
        let acls = vec![OzoneAclInfo { name: "ann".to_owned(), ..OzoneAclInfo::default() }];
        let key = KeyInfo { key_name: "k".to_owned(), acls, ..KeyInfo::default() };
        let alone = KeyAcls::decode(key.encode_to_vec().as_slice()).unwrap();
        assert_eq!(alone.acls, key.acls);
    }
}
