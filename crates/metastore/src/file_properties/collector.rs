//! The collector of `cpp/deletions.cc`: with `buckets.rs` the only code here that is not safe Rust.

use std::ffi::{c_char, c_void};

use rust_rocksdb::{AsColumnFamilyRef, AsRawPtr, ColumnFamily, DB, Options};

use super::samples::{Sample, parse};
use crate::{Error, Result};

/// Entries for each sample: a file of a million entries has 244 of them, in some 20 KB.
const ENTRIES_PER_SAMPLE: u64 = 4_096;

/// What a table file says of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileProperties {
    /// Entries, tombstones included.
    pub(crate) entries: u64,
    /// Tombstones.
    pub(crate) deletions: u64,
    /// Where they are; nothing for a file that was written without.
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

/// Has every file of a table say where its tombstones are.
///
/// # Errors
/// When there is no memory for it.
pub(crate) fn collect_deletions(options: &mut Options) -> Result<()> {
    // SAFETY: the pointer is that of live options, which nobody else uses meanwhile; the function
    // adds to them and keeps nothing.
    let done = unsafe { metastore_collect_deletions(options.as_raw_ptr(), ENTRIES_PER_SAMPLE) };
    let reason = || "no memory".to_owned();
    done.then_some(())
        .ok_or_else(|| Error::Failed { operation: "collect deletions", reason: reason() })
}

/// What the files of a table say of themselves, by the ends of their names.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn properties(db: &DB, family: &ColumnFamily) -> Result<Vec<(String, FileProperties)>> {
    let mut files: Vec<(String, FileProperties)> = Vec::new();
    let mut reason = [0_u8; 512];
    // SAFETY: database and family are alive for the call, and the family is of the database; `each`
    // gets the pointer to `files` back, which nobody else uses meanwhile; `reason` has the room
    // that is said.
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
    // SAFETY: `state` is what `properties` gave, used by this call alone.
    let files = unsafe { &mut *state.cast::<Vec<(String, FileProperties)>>() };
    // SAFETY: the caller's strings, alive for the call and as long as it says.
    let (path, samples) = unsafe { (bytes(name, name_length), bytes(samples, samples_length)) };
    let path = String::from_utf8_lossy(path);
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    // A property that makes no sense counts as none: the file counts as a whole.
    let samples = parse(samples).unwrap_or_default();
    files.push((name, FileProperties { entries, deletions, samples }));
}

/// # Safety
/// `length` bytes from `start` on must be readable for `'a`, or none of them.
unsafe fn bytes<'a>(start: *const c_char, length: usize) -> &'a [u8] {
    match start.is_null() || length == 0 {
        true => &[],
        // SAFETY: what the caller promises.
        false => unsafe { std::slice::from_raw_parts(start.cast(), length) },
    }
}
