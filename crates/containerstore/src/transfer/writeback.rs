//! Having a device begin early with what a sync will wait for.

use std::fs::File;
use std::path::Path;

use crate::disk::Disk;

/// Bytes given to the device at a time. If a whole segment were left for its sync, each write of a
/// client would wait for all of it.
const STEP: u64 = 1 << 20;

/// Progress of writeback of a file that is written from its beginning to its end.
#[derive(Debug, Default)]
pub(super) struct Writeback {
    begun: u64,
}

impl Writeback {
    /// The file has been written up to `end`.
    pub(super) fn wrote(&mut self, disk: &Disk, file: &File, path: &Path, end: u64) {
        if end.saturating_sub(self.begun) >= STEP {
            disk.io().start_writeback(file, path, self.begun..end);
            self.begun = end;
        }
    }
}
