//! A disk's executor: written bytes are read back, synced means written, failures are reported.
#![allow(missing_docs, clippy::unwrap_used)]

mod absurd;
mod bytes_survive;
mod durable;
mod failures;
mod late;
mod space;

use std::path::Path;
use std::sync::Arc;

use blockio::{Disk, DiskOptions, Faults, FaultyBackend};
use bytes::Bytes;
use tempfile::TempDir;

/// A disk over a fresh directory on a real file system (the target directory: tmpfs has no direct
/// I/O).
struct Fixture {
    dir: TempDir,
    disk: Disk,
    faults: Faults,
}

impl Fixture {
    fn new(options: DiskOptions) -> Self {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let backend = FaultyBackend::default();
        let faults = backend.faults.clone();
        let disk = Disk::start_on(dir.path(), options, Box::new(backend)).unwrap();
        Self { dir, disk, faults }
    }

    fn path(&self, name: &str) -> Arc<Path> {
        Arc::from(self.dir.path().join(name))
    }
}

/// Bytes that differ from place to place.
fn pattern(seed: u64, len: usize) -> Bytes {
    let mut state = seed | 1;
    let bytes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    });
    bytes.take(len).collect::<Vec<_>>().into()
}
