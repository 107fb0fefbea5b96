//! How long a read waits for its disk.

use std::path::Path;
use std::sync::Arc;

use blockio::IoError;
use bytes::Bytes;

use super::disk::Disk;

/// How long a read waits for its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// For as long as it takes: there is no other replica to ask, or none was better.
    Wait,
    /// No longer than the limit for reads: the client can ask another replica.
    Leave,
}

impl Disk {
    /// Bytes of a file.
    pub(crate) async fn read(
        &self,
        path: Arc<Path>,
        offset: u64,
        len: usize,
        patience: Patience,
    ) -> Result<Bytes, IoError> {
        match patience {
            Patience::Wait => self.io.read(path, offset, len).await,
            Patience::Leave => self.io.read_timely(path, offset, len).await,
        }
    }
}
