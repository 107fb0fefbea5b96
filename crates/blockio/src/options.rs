//! Options of a disk.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// I/O engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The best one that the kernel supports.
    #[default]
    Auto,
    /// Worker threads with blocking calls.
    Threads,
}

/// The clock for late reads.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl Clock {
    /// A clock that returns the values of `source`, for tests. It must never go backwards.
    pub fn from_fn(source: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// The current reading in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from((self.0)().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Default for Clock {
    fn default() -> Self {
        let epoch = Instant::now();
        Self::from_fn(move || epoch.elapsed())
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// Options of a [`Disk`](crate::Disk).
#[derive(Debug, Clone)]
pub struct DiskOptions {
    /// Name in metrics and thread names.
    pub name: String,
    /// I/O engine.
    pub engine: Engine,
    /// Worker threads: operations that run concurrently on the device.
    pub threads: usize,
    /// Maximum number of operations queued or in progress; further ones wait.
    pub queue: usize,
    /// Maximum number of open files.
    pub open_files: usize,
    /// Bytes of aligned buffers, in use and pooled. Beyond it, memory comes from the allocator and
    /// is freed afterwards.
    pub pool_bytes: usize,
    /// Writes shorter than this go through the page cache.
    pub direct_min: usize,
    /// Cached reads up to this length are served on the calling thread. Longer ones would block an
    /// async worker for too long.
    pub inline_read_max: usize,
    /// Time without progress after which a timely read counts as late; `None` for no limit.
    pub read_limit: Option<Duration>,
    /// The clock for `read_limit`.
    pub clock: Clock,
    /// Maximum number of additional workers that replace hanging ones.
    pub spare_threads: usize,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            name: "disk".into(),
            engine: Engine::Auto,
            threads: 4,
            queue: 256,
            open_files: 512,
            pool_bytes: 32 << 20,
            direct_min: 64 << 10,
            inline_read_max: 1 << 20,
            read_limit: None,
            clock: Clock::default(),
            spare_threads: 16,
        }
    }
}
