//! Reads that the device refused, as far as they count against the disk.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

/// Files that are remembered at most.
const MOST_FILES: usize = 10_000;

/// Files of which the device refused to give bytes. Each counts once: one bad sector is the trouble
/// of one replica, however often it is read, many of them are the disk's.
#[derive(Debug, Default)]
pub(crate) struct RefusedReads {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    files: FxHashSet<PathBuf>,
    /// Files since the last test of the disk.
    new: usize,
}

impl RefusedReads {
    /// The device refused to give bytes of a file.
    pub(crate) fn note(&self, path: &Path) {
        let mut known = self.known.lock();
        if known.files.len() < MOST_FILES && known.files.insert(path.to_owned()) {
            known.new += 1;
        }
    }

    /// Returns the number of files added since the last call.
    pub(crate) fn take_new(&self) -> usize {
        std::mem::take(&mut self.known.lock().new)
    }

    /// Returns the number of files.
    pub(crate) fn files(&self) -> usize {
        self.known.lock().files.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once() {
        let refused = RefusedReads::default();
        for path in ["/a", "/b", "/a"] {
            refused.note(Path::new(path));
        }
        assert_eq!((refused.take_new(), refused.take_new()), (2, 0));
        refused.note(Path::new("/b"));
        refused.note(Path::new("/c"));
        assert_eq!((refused.take_new(), refused.files()), (1, 3));
    }
}
