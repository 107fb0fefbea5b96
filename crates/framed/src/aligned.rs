//! A pool of page-aligned buffers for large payloads.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use bytes::Bytes;
use parking_lot::Mutex;

/// Alignment that direct I/O requires of memory, offsets and lengths.
pub const ALIGNMENT: usize = 4096;

/// Maximum size of pooled buffers, in bytes over all sizes: mapping and zeroing fresh pages costs
/// more than the copy that the buffer saves.
const POOLED_BYTES: usize = 48 << 20;
const SMALLEST: usize = 64 << 10;
const CLASSES: usize = 8;

struct Pool {
    free: [Vec<Raw>; CLASSES],
    bytes: usize,
}

struct Raw {
    at: NonNull<u8>,
    capacity: usize,
}

// SAFETY: `Raw` owns its allocation, which is independent of threads.
unsafe impl Send for Raw {}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: [const { Vec::new() }; CLASSES], bytes: 0 });

/// Size class of a length: powers of two from 64 KiB to 8 MiB; `None` above.
fn class(len: usize) -> Option<usize> {
    let steps = len.max(1).div_ceil(SMALLEST).next_power_of_two().trailing_zeros() as usize;
    (steps < CLASSES).then_some(steps)
}

fn layout(capacity: usize) -> Layout {
    // Capacity is a non-zero multiple of ALIGNMENT far below isize::MAX, see `new`.
    Layout::from_size_align(capacity, ALIGNMENT).unwrap_or(Layout::new::<u8>())
}

/// A byte buffer whose start is aligned to [`ALIGNMENT`] and whose capacity is a multiple of it.
pub struct AlignedBuf {
    raw: Raw,
    len: usize,
}

// SAFETY: an `AlignedBuf` is uniquely owned memory, like a `Vec<u8>`.
unsafe impl Send for AlignedBuf {}
// SAFETY: shared references only allow reading.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// A buffer of `len` bytes with unspecified content, to be filled by the caller.
    ///
    /// The content is that of earlier memory of this process, never uninitialised: fresh
    /// allocations are zeroed.
    pub fn new(len: usize) -> Self {
        let class = class(len);
        #[cfg(test)]
        TAKEN.with(|taken| taken.set(taken.get() + class.map_or(len, |class| SMALLEST << class)));
        if let Some(class) = class {
            let mut pool = POOL.lock();
            if let Some(raw) = pool.free[class].pop() {
                pool.bytes -= raw.capacity;
                return Self { raw, len };
            }
        }
        let capacity = match class {
            Some(class) => SMALLEST << class,
            None => len.next_multiple_of(ALIGNMENT),
        };
        let layout = layout(capacity);
        // SAFETY: the layout has a non-zero size.
        let at = unsafe { alloc(layout) };
        let Some(at) = NonNull::new(at) else { handle_alloc_error(layout) };
        // SAFETY: `at` points to `capacity` freshly allocated bytes.
        unsafe { at.as_ptr().write_bytes(0, capacity) };
        Self { raw: Raw { at, capacity }, len }
    }

    /// A copy of `bytes` in an aligned buffer.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buf = Self::new(bytes.len());
        buf.copy_from_slice(bytes);
        buf
    }

    /// Capacity in bytes.
    pub fn capacity(&self) -> usize {
        self.raw.capacity
    }

    /// Sets the length to `len` bytes.
    ///
    /// # Panics
    /// If `len` exceeds the capacity.
    pub fn set_len(&mut self, len: usize) {
        assert!(len <= self.raw.capacity, "{len} bytes in a buffer of {}", self.raw.capacity);
        self.len = len;
    }

    /// Converts to shared bytes, without a copy; the buffer returns to the pool with the last
    /// reference.
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl std::ops::Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `len <= capacity` initialised bytes belong to this buffer.
        unsafe { std::slice::from_raw_parts(self.raw.at.as_ptr(), self.len) }
    }
}

impl std::ops::DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.raw.at.as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for AlignedBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        let raw = Raw { at: self.raw.at, capacity: self.raw.capacity };
        if let Some(class) = class(raw.capacity) {
            let mut pool = POOL.lock();
            if pool.bytes + raw.capacity <= POOLED_BYTES {
                pool.bytes += raw.capacity;
                pool.free[class].push(raw);
                return;
            }
        }
        // SAFETY: allocated in `new` with this layout, and not pooled.
        unsafe { dealloc(raw.at.as_ptr(), layout(raw.capacity)) };
    }
}

#[cfg(test)]
thread_local! {
    static TAKEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Total capacity of all buffers that this thread ever acquired.
#[cfg(test)]
pub(crate) fn taken_here() -> usize {
    TAKEN.with(std::cell::Cell::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_aligned_and_large_enough() {
        for len in [0, 1, 4095, 65_536, 65_537, 4 << 20, (8 << 20) + 1, 20 << 20] {
            let mut buf = AlignedBuf::new(len);
            assert_eq!((buf.len(), buf.as_ptr() as usize % ALIGNMENT), (len, 0));
            assert!(buf.capacity() >= len && buf.capacity().is_multiple_of(ALIGNMENT));
            buf.fill(7);
            assert!(buf.freeze().iter().all(|b| *b == 7));
        }
    }

    #[test]
    fn classes_hold_what_they_say() {
        for len in [1, SMALLEST, SMALLEST + 1, 1 << 20, 8 << 20] {
            let class = class(len).unwrap();
            assert!(SMALLEST << class >= len);
            assert!(class == 0 || SMALLEST << (class - 1) < len);
        }
        assert_eq!(class((8 << 20) + 1), None);
    }
}
