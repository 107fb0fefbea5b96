//! A pool of page-aligned buffers: large allocations cost page faults, and direct I/O requires
//! aligned memory.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Unit of direct I/O: offsets, lengths and addresses are multiples of it.
pub const PAGE: usize = 4096;

/// Sizes double from one page to 32 MiB; longer buffers are not pooled.
const CLASSES: usize = 14;

/// Memory that starts on a page. Zeroed when allocated, so never uninitialised.
struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: `Pages` owns its memory exclusively, like a `Box<[u8]>`; there is no interior mutability.
unsafe impl Send for Pages {}
// SAFETY: shared access only reads.
unsafe impl Sync for Pages {}

impl Pages {
    /// `len` is a multiple of a page and not 0.
    fn new(len: usize) -> Self {
        let layout = Self::layout(len);
        // SAFETY: the layout's size is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, len }
    }

    fn layout(len: usize) -> Layout {
        match Layout::from_size_align(len.max(PAGE), PAGE) {
            Ok(layout) => layout,
            // Only a length beyond isize::MAX gets here, which no allocation can provide.
            Err(_) => handle_alloc_error(Layout::new::<u8>()),
        }
    }

    fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` points to `len` initialised bytes that live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.len)) }
    }
}

struct Shared {
    limit: usize,
    /// Bytes of pooled buffers, in use and free.
    held: AtomicUsize,
    in_use: AtomicUsize,
    free: [Mutex<Vec<Pages>>; CLASSES],
}

/// A bounded pool of aligned buffers. Clones share it.
#[derive(Clone)]
pub struct BufferPool {
    shared: Arc<Shared>,
}

impl BufferPool {
    /// A pool that holds at most `limit` bytes, in use and free together.
    pub fn new(limit: usize) -> Self {
        let free = std::array::from_fn(|_| Mutex::new(Vec::new()));
        let (held, in_use) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { shared: Arc::new(Shared { limit, held, in_use, free }) }
    }

    /// A buffer of `len` bytes with unspecified contents. Beyond the pool's limit it comes from the
    /// allocator and is freed afterwards.
    pub fn acquire(&self, len: usize) -> PooledBuffer {
        self.shared.in_use.fetch_add(len, Ordering::Relaxed);
        let class = class_of(len);
        let capacity = class.map_or(len.max(1).next_multiple_of(PAGE), |c| PAGE << c);
        let kept = class.and_then(|c| self.shared.free.get(c)?.lock().pop());
        let (pages, pooled) = match kept {
            Some(pages) => (pages, true),
            None => {
                let held = self.shared.held.fetch_add(capacity, Ordering::Relaxed) + capacity;
                let pooled = class.is_some() && held <= self.shared.limit;
                if !pooled {
                    self.shared.held.fetch_sub(capacity, Ordering::Relaxed);
                }
                (Pages::new(capacity), pooled)
            }
        };
        PooledBuffer { pages: Some(pages), len, pool: self.clone(), pooled }
    }

    /// Bytes of buffers in use.
    pub fn in_use(&self) -> usize {
        self.shared.in_use.load(Ordering::Relaxed)
    }

    /// Bytes of pooled buffers, in use and free.
    pub fn held(&self) -> usize {
        self.shared.held.load(Ordering::Relaxed)
    }

    fn release(&self, pages: Pages) {
        let class = class_of(pages.len).and_then(|c| self.shared.free.get(c));
        if let Some(free) = class {
            free.lock().push(pages);
        }
    }
}

fn class_of(len: usize) -> Option<usize> {
    let class = len.div_ceil(PAGE).max(1).next_power_of_two().trailing_zeros() as usize;
    (class < CLASSES).then_some(class)
}

/// An aligned buffer that returns to its pool when dropped. Convert it into `Bytes` with
/// `Bytes::from_owner`.
pub struct PooledBuffer {
    /// Set until dropped.
    pages: Option<Pages>,
    len: usize,
    pool: BufferPool,
    pooled: bool,
}

impl PooledBuffer {
    /// Shortens the buffer to its first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.pool.shared.in_use.fetch_sub(self.len - len, Ordering::Relaxed);
            self.len = len;
        }
    }
}

impl Deref for PooledBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.pages.as_ref().map_or(&[], |pages| &pages.as_slice()[..self.len])
    }
}

impl DerefMut for PooledBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        self.pages.as_mut().map_or(&mut [], |pages| &mut pages.as_mut_slice()[..len])
    }
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.pool.shared.in_use.fetch_sub(self.len, Ordering::Relaxed);
        if let (Some(pages), true) = (self.pages.take(), self.pooled) {
            self.pool.release(pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_start_on_a_page_and_come_back() {
        let pool = BufferPool::new(1 << 20);
        let first = pool.acquire(10_000);
        assert_eq!(first.as_ptr() as usize % PAGE, 0);
        assert_eq!((first.len(), pool.in_use(), pool.held()), (10_000, 10_000, 16_384));
        let place = first.as_ptr();
        drop(first);
        assert_eq!((pool.in_use(), pool.held()), (0, 16_384));
        assert_eq!(pool.acquire(16_000).as_ptr(), place);
    }

    #[test]
    fn the_pool_never_holds_more_than_its_bound() {
        let pool = BufferPool::new(3 * PAGE);
        let taken: Vec<_> = (0..10).map(|_| pool.acquire(PAGE)).collect();
        assert!(taken.iter().all(|buffer| buffer.len() == PAGE));
        assert_eq!(pool.held(), 3 * PAGE);
        drop(taken);
        assert_eq!((pool.in_use(), pool.held()), (0, 3 * PAGE));
    }

    #[test]
    fn a_buffer_longer_than_any_class_is_served_and_not_kept() {
        let pool = BufferPool::new(usize::MAX >> 1);
        let long = pool.acquire((32 << 20) + 1);
        assert_eq!(long.len(), (32 << 20) + 1);
        drop(long);
        assert_eq!(pool.held(), 0);
    }
}
