//! Raft's entries with payloads: which of them keep theirs outside of the log, and how large they
//! count.

use bytes::Bytes;

use crate::consensus::Entry;

/// Stands for a payload that the payload store has, in entries in the cache and on disk.
pub(crate) static STRIPPED: &[u8] = b"\x00payload stored\x00";

/// Marks an entry whose payload goes through the payload store.
pub(crate) fn set_external(entry: &mut Entry) {
    // The field has no use of its own since raft 0.6 and travels and is stored like any other.
    entry.sync_log = true;
}

/// Whether the payload of `entry` goes through the payload store.
pub(crate) fn is_external(entry: &Entry) -> bool {
    entry.sync_log
}

/// Whether the payload of `entry` must be read from the payload store before it is sent.
pub(crate) fn is_stripped(entry: &Entry) -> bool {
    entry.sync_log && entry.context == STRIPPED
}

/// The entry as it is written: without a payload that lives elsewhere.
pub(crate) fn strip(entry: &mut Entry) {
    if entry.sync_log && !entry.context.is_empty() {
        entry.context = Bytes::from_static(STRIPPED);
    }
}

/// What entries are counted as against bounds in bytes.
pub(crate) fn bytes_of(entries: &[Entry]) -> usize {
    entries.iter().map(|e| e.data.len() + e.context.len() + 96).sum()
}
