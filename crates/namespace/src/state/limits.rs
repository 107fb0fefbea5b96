//! Limits of a request, checked before it is logged: sizes that a key can have, and lists that
//! every replica can process. `apply` does not rely on it: its sums saturate for any entry.

use proto::ozone::KeyArgs;

use crate::error::OmError;
use crate::state::usage::LARGEST;

/// The most entries of one list of ACLs, metadata or tags. Commands compare each entry with the
/// others, and directories hand theirs on to all that are made below them.
const MOST_ENTRIES: usize = 1_000;

/// Bytes of the names on one page of keys, after which it ends. Names may be very long: a tree
/// can be deeper than any path of a request.
pub(crate) const PAGE_NAME_BYTES: usize = 8 << 20;

/// Bytes of all paths in one answer to ListStatus. Ozone's file system takes a page that is shorter
/// than it asked for as the last one, so that a page of more is refused and not cut.
const STATUS_PATH_BYTES: usize = 64 << 20;

/// The paths in an answer to ListStatus.
pub(crate) struct StatusPaths {
    bytes: usize,
}

impl StatusPaths {
    pub(crate) fn new() -> Self {
        Self { bytes: 0 }
    }

    /// Takes room for one more.
    ///
    /// # Errors
    /// When all of them together are longer than one answer may be.
    pub(crate) fn take(&mut self, path: &str, entries: usize) -> Result<(), OmError> {
        self.bytes = self.bytes.saturating_add(path.len());
        if self.bytes <= STATUS_PATH_BYTES {
            return Ok(());
        }
        Err(OmError::InvalidRequest(format!(
            "the paths of {entries} entries have more than {STATUS_PATH_BYTES} bytes: list fewer \
             in one request (ozone.fs.listing.page.size)"
        )))
    }
}

/// Checks the sizes and lists of a key.
///
/// # Errors
/// When a size is larger than [`LARGEST`], or a list has more than [`MOST_ENTRIES`] entries.
pub(crate) fn check_key(args: &KeyArgs) -> Result<(), OmError> {
    check_sizes(args)?;
    check_entries("ACLs", args.acls.len())?;
    check_entries("metadata entries", args.metadata.len())?;
    check_entries("tags", args.tags.len())
}

/// Checks the length of a list.
///
/// # Errors
/// When it has more than [`MOST_ENTRIES`] entries.
pub(crate) fn check_entries(what: &str, count: usize) -> Result<(), OmError> {
    if count <= MOST_ENTRIES {
        return Ok(());
    }
    Err(OmError::InvalidRequest(format!("{count} {what}, there can be {MOST_ENTRIES} at most")))
}

/// The size of the key, of each of its blocks, and of all of them.
fn check_sizes(args: &KeyArgs) -> Result<(), OmError> {
    let size = args.data_size.unwrap_or(0);
    let sum = args.key_locations.iter().try_fold(0u64, |sum, block| {
        block.offset.checked_add(block.length)?;
        sum.checked_add(block.length).filter(|sum| *sum <= LARGEST)
    });
    if size <= LARGEST && sum.is_some() {
        return Ok(());
    }
    Err(OmError::InvalidRequest(format!(
        "the sizes of key {} cannot be: {size} bytes in {} blocks, there can be {LARGEST} bytes at most",
        args.key_name,
        args.key_locations.len()
    )))
}
