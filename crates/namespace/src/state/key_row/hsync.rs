//! Keys that their writer has synced but not closed: committed and open at once.

use std::collections::HashSet;

use proto::ozone::KeyInfo;

use super::KeyTables;
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::locations::{self, block_id};
use crate::state::metadata::{self, DELETED_HSYNC_KEY, HSYNC_CLIENT_ID, OVERWRITTEN_HSYNC_KEY};
use crate::state::view;
use crate::tables;

/// The session that still writes to a committed key.
pub(crate) fn writer(key: &KeyInfo) -> Option<u64> {
    let id = metadata::get(&key.metadata, HSYNC_CLIENT_ID)?;
    id.parse::<i64>().ok().map(i64::cast_unsigned)
}

/// The text of a session in a key's metadata.
pub(crate) fn session(client_id: u64) -> String {
    client_id.cast_signed().to_string()
}

/// Change of the synced form of an open key by another client than its writer.
#[derive(Clone, Copy)]
pub(crate) enum Fate {
    Deleted,
    Overwritten,
}

/// Marks the open key of `key`'s writer, if it has one, as no longer its own: the writer's next
/// commit is refused.
pub(crate) fn disown(
    cx: &mut ApplyContext<'_>,
    key_tables: KeyTables,
    row: &[u8],
    key: &KeyInfo,
    fate: Fate,
) -> Result<(), OmError> {
    let Some(client_id) = writer(key) else { return Ok(()) };
    let open_key = tables::open_key(row, client_id);
    let Some(mut open) = view::get::<KeyInfo>(cx.view, key_tables.open(), &open_key)? else {
        return Ok(());
    };
    let marker = match fate {
        Fate::Deleted => DELETED_HSYNC_KEY,
        Fate::Overwritten => OVERWRITTEN_HSYNC_KEY,
    };
    metadata::set_str(&mut open.metadata, marker, "true");
    // Synced blocks are garbage as the key's, and must not be so once more as the session's.
    let gone: HashSet<_> = locations::of_key(key).map(block_id).collect();
    for list in &mut open.key_location_list {
        list.key_locations.retain(|location| !gone.contains(&block_id(location)));
    }
    cx.put(key_tables.open(), open_key, &open);
    Ok(())
}

/// # Errors
/// When the key that `open` writes was deleted or overwritten after a sync.
pub(crate) fn check_owned(open: &KeyInfo) -> Result<(), OmError> {
    let lost = [DELETED_HSYNC_KEY, OVERWRITTEN_HSYNC_KEY]
        .into_iter()
        .any(|marker| metadata::get(&open.metadata, marker).is_some());
    if lost {
        return Err(OmError::KeyNotFound(format!(
            "Open key {}/{}/{} is already deleted or overwritten",
            open.volume_name, open.bucket_name, open.key_name
        )));
    }
    Ok(())
}
