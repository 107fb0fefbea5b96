//! Comparison of two versions of an object, except for its name and times.

use proto::ozone::KeyInfo;

use super::{Kind, Object};
use crate::state::locations::{block_id, of_key};

/// Returns `true` if content or attributes differ. Ozone: `isKeyInfoSame` and
/// `isBlockLocationInfoSame` for keys, the ACLs for directories.
pub(super) fn differs(was: &Object, is: &Object) -> bool {
    match (&was.kind, &is.kind) {
        (Kind::Directory(was), Kind::Directory(is)) => was.acls != is.acls,
        (Kind::Key(was), Kind::Key(is)) => key_differs(was, is),
        _ => true,
    }
}

fn key_differs(was: &KeyInfo, is: &KeyInfo) -> bool {
    let replication = |key: &KeyInfo| (key.r#type, key.factor, key.ec_replication_config.clone());
    was.data_size != is.data_size
        || was.creation_time != is.creation_time
        || replication(was) != replication(is)
        || was.metadata != is.metadata
        || was.acls != is.acls
        || was.tags != is.tags
        || was.owner_name != is.owner_name
        || !of_key(was).map(block_id).eq(of_key(is).map(block_id))
}
