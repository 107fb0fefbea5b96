//! Files that end at bucket boundaries: `cpp/buckets.cc`.

use rust_rocksdb::{AsRawPtr, Options};

use crate::{Error, Result};

/// Size of a file of several buckets, some 20,000 keys. A file of one bucket may have RocksDB's
/// default size, 64 MiB.
const MIXED_FILE_BYTES: u64 = 4 << 20;

/// The same above the last level, where a compaction of a file includes all files that it overlaps
/// in the next level.
const MIXED_FILE_BYTES_ABOVE: u64 = 256 << 10;

unsafe extern "C" {
    fn metastore_end_files_with_buckets(
        options: *mut rust_librocksdb_sys::rocksdb_options_t,
        bytes: u64,
        bytes_above: u64,
    ) -> bool;
}

/// Keeps files of several buckets small, so that the compaction of one rewrites little of others.
///
/// # Errors
/// If there is no memory for it.
pub(crate) fn end_files_with_buckets(options: &mut Options) -> Result<()> {
    // SAFETY: the pointer is that of live options, which no other thread uses during the call; the
    // function modifies them and retains nothing.
    let done = unsafe {
        metastore_end_files_with_buckets(
            options.as_raw_ptr(),
            MIXED_FILE_BYTES,
            MIXED_FILE_BYTES_ABOVE,
        )
    };
    let reason = "no memory".to_owned();
    done.then_some(()).ok_or(Error::Failed { operation: "end files with buckets", reason })
}
