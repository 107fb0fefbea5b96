//! Payloads of Raft entries: payloads stored outside of the log, and the sizes of entries.

use bytes::Bytes;

use crate::consensus::Entry;

/// Replaces a payload that is in the payload store, in cached and persisted entries.
pub(crate) static STRIPPED: &[u8] = b"\x00payload stored\x00";

/// Marks an entry whose payload is kept in the payload store.
pub(crate) fn set_external(entry: &mut Entry) {
    // The field is unused since raft 0.6, but is still sent and stored.
    entry.sync_log = true;
}

/// Returns `true` if the payload of `entry` is kept in the payload store.
pub(crate) fn is_external(entry: &Entry) -> bool {
    entry.sync_log
}

/// Returns `true` if the payload of `entry` must be read from the payload store before sending.
pub(crate) fn is_stripped(entry: &Entry) -> bool {
    entry.sync_log && entry.context == STRIPPED
}

/// Removes a payload that is stored elsewhere, before the entry is written.
pub(crate) fn strip(entry: &mut Entry) {
    if entry.sync_log && !entry.context.is_empty() {
        entry.context = Bytes::from_static(STRIPPED);
    }
}

/// Size of entries in bytes, for limits.
pub(crate) fn bytes_of(entries: &[Entry]) -> usize {
    entries.iter().map(|e| e.data.len() + e.context.len() + 96).sum()
}
