//! Bounds of a disk.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// How operations are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The best the kernel has.
    #[default]
    Auto,
    /// Worker threads with blocking calls.
    Threads,
}

/// The clock by which a read is late.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl Clock {
    /// A clock that shows what `source` returns, for tests. It must never go backwards.
    pub fn from_fn(source: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// What it shows, in nanoseconds.
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

/// Bounds and choices of a [`Disk`](crate::Disk).
#[derive(Debug, Clone)]
pub struct DiskOptions {
    /// Name in metrics and thread names.
    pub name: String,
    /// How operations are carried out.
    pub engine: Engine,
    /// Worker threads: operations the device works on at a time.
    pub threads: usize,
    /// Operations that may be queued or under way; more of them wait.
    pub queue: usize,
    /// Files kept open.
    pub open_files: usize,
    /// Bytes of aligned buffers, in use and kept for re-use. Beyond it, memory comes from the
    /// allocator and goes back there.
    pub pool_bytes: usize,
    /// Writes shorter than this go through the page cache.
    pub direct_min: usize,
    /// Cached reads up to this length are answered on the calling thread. Longer ones would keep
    /// an async worker from its other work for too long.
    pub inline_read_max: usize,
    /// How long a worker may get no further with a timely read until that is late; `None` waits
    /// for as long as it takes.
    pub read_limit: Option<Duration>,
    /// What `read_limit` is measured by.
    pub clock: Clock,
    /// Workers that may be started on top, in the place of those that hang.
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
