//! The collector of `cpp/deletions.cc`: the only unsafe code here besides `buckets.rs`.

use std::ffi::{c_char, c_void};

use rust_rocksdb::{AsColumnFamilyRef, AsRawPtr, ColumnFamily, DB, Options};

use super::samples::{Sample, parse};
use crate::{Error, Result};

/// Entries per sample: a file of a million entries has 244 samples, in some 20 KB.
const ENTRIES_PER_SAMPLE: u64 = 4_096;

/// Statistics in a table file's properties.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileProperties {
    /// Entries, tombstones included.
    pub(crate) entries: u64,
    /// Tombstones.
    pub(crate) deletions: u64,
    /// Their positions; empty for a file without samples.
    pub(crate) samples: Vec<Sample>,
}

type EachFile =
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize, u64, u64);

unsafe extern "C" {
    fn metastore_collect_deletions(
        options: *mut rust_librocksdb_sys::rocksdb_options_t,
        entries: u64,
    ) -> bool;
    fn metastore_each_file_of(
        db: *mut rust_librocksdb_sys::rocksdb_t,
        family: *mut rust_librocksdb_sys::rocksdb_column_family_handle_t,
        each: EachFile,
        state: *mut c_void,
        reason: *mut c_char,
        room: usize,
    ) -> usize;
}

/// Makes every file of a table record the positions of its tombstones.
///
/// # Errors
/// If there is no memory for it.
pub(crate) fn collect_deletions(options: &mut Options) -> Result<()> {
    // SAFETY: the pointer is that of live options, which no other thread uses during the call; the
    // function modifies them and retains nothing.
    let done = unsafe { metastore_collect_deletions(options.as_raw_ptr(), ENTRIES_PER_SAMPLE) };
    let reason = || "no memory".to_owned();
    done.then_some(())
        .ok_or_else(|| Error::Failed { operation: "collect deletions", reason: reason() })
}

/// The recorded statistics of a table's files, by the last part of their names.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn properties(db: &DB, family: &ColumnFamily) -> Result<Vec<(String, FileProperties)>> {
    let mut files: Vec<(String, FileProperties)> = Vec::new();
    let mut reason = [0_u8; 512];
    // SAFETY: database and family are alive during the call, and the family belongs to the
    // database; `each` gets the pointer to `files` back, which no other thread uses in the
    // meantime; `reason` has the given capacity.
    let length = unsafe {
        metastore_each_file_of(
            db.as_raw_ptr(),
            family.inner(),
            each_file,
            (&raw mut files).cast(),
            reason.as_mut_ptr().cast(),
            reason.len(),
        )
    };
    match reason.get(..length) {
        Some([]) => Ok(files),
        said => {
            let reason = String::from_utf8_lossy(said.unwrap_or_default()).into_owned();
            Err(Error::Failed { operation: "read file properties", reason })
        }
    }
}

/// Adds a file to the list that `state` points to.
unsafe extern "C" fn each_file(
    state: *mut c_void,
    name: *const c_char,
    name_length: usize,
    samples: *const c_char,
    samples_length: usize,
    entries: u64,
    deletions: u64,
) {
    // SAFETY: `state` is the pointer passed by `properties`, used by this call alone.
    let files = unsafe { &mut *state.cast::<Vec<(String, FileProperties)>>() };
    // SAFETY: strings of the caller, alive during the call and of the given length.
    let (path, samples) = unsafe { (bytes(name, name_length), bytes(samples, samples_length)) };
    let path = String::from_utf8_lossy(path);
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    // A malformed property is ignored: the file counts as a whole.
    let samples = parse(samples).unwrap_or_default();
    files.push((name, FileProperties { entries, deletions, samples }));
}

/// # Safety
/// `length` bytes from `start` on must be readable for `'a`, or none of them.
unsafe fn bytes<'a>(start: *const c_char, length: usize) -> &'a [u8] {
    match start.is_null() || length == 0 {
        true => &[],
        // SAFETY: guaranteed by the caller.
        false => unsafe { std::slice::from_raw_parts(start.cast(), length) },
    }
}
