//! Rate of a scan's reads.

use async_trait::async_trait;

use crate::disk::Disk;

/// Throttle of a scan.
#[async_trait]
pub trait Pace: Send + Sync {
    /// Waits until `bytes` more of the disk may be read.
    async fn pass(&self, disk: &Disk, bytes: u64);
}

/// As fast as the disk reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unpaced;

#[async_trait]
impl Pace for Unpaced {
    async fn pass(&self, _disk: &Disk, _bytes: u64) {}
}
