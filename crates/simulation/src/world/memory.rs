//! Memory: the same calls get the same addresses and the same sizes in each run.
//!
//! The C library's allocator is not deterministic: memory of an ended thread is freed when the
//! kernel is done with it. Addresses are hashed (by locks, caches), and the real size of a block
//! counts for the size of a table in memory.
//!
//! Blocks have sizes of a few classes; each class has a list of free blocks, and new ones come from
//! one large range of addresses. Memory outside of the run has a range of its own and is never
//! reused ([`aside`]): allocations before the world, those of threads before they enter it and
//! after they have left it, and the C library's thread data, which it frees when the kernel is done
//! with them.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::{c_int, size_t};

use super::{inside, real};

/// Start and length of the run's range.
const BASE: usize = 0x2000_0000_0000;
const RANGE: usize = 1 << 40;
/// Start and length of the range outside of the run.
const ASIDE_BASE: usize = 0x2800_0000_0000;
const ASIDE_RANGE: usize = 4 << 30;
/// Before each block.
const HEAD: usize = 16;
/// Classes up to 1024 bytes are multiples of this.
const STEP: usize = 16;
const SMALL: usize = 1024;
const CLASSES: usize = SMALL / STEP + 4 * 40;
/// Free blocks from this size on give their pages back.
const LARGE: usize = 256 << 10;

/// Header of a block.
#[repr(C)]
struct Head {
    /// Start of its memory, which differs for blocks with their own alignment.
    start: usize,
    class: u32,
    /// Offset of the block from the start.
    skip: u32,
}

struct Arena {
    next: usize,
    end: usize,
    free: [usize; CLASSES],
}

struct Shared {
    busy: AtomicBool,
    arena: UnsafeCell<Arena>,
}

// SAFETY: the arena is touched only by the thread that set `busy`.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared {
    busy: AtomicBool::new(false),
    arena: UnsafeCell::new(Arena { next: 0, end: 0, free: [0; CLASSES] }),
};

/// The first free address of the range outside of the run; 0 before the first allocation.
static ASIDE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_ASIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs code whose memory is outside of the run: it may run at another time in each run.
pub(super) fn aside<R>(work: impl FnOnce() -> R) -> R {
    let before = IS_ASIDE.replace(true);
    let done = work();
    IS_ASIDE.set(before);
    done
}

fn is_aside(block: usize) -> bool {
    (ASIDE_BASE..ASIDE_BASE + ASIDE_RANGE).contains(&block)
}

fn class_of(size: usize) -> usize {
    if size <= SMALL {
        return size.div_ceil(STEP).max(1) - 1;
    }
    // Four classes between two powers of two.
    let top = (size - 1).ilog2() as usize;
    let quarter = (size - 1) >> (top - 2) & 3;
    SMALL / STEP + (top - 10) * 4 + quarter
}

fn size_of_class(class: usize) -> usize {
    match class.checked_sub(SMALL / STEP) {
        None => (class + 1) * STEP,
        Some(large) => {
            let (top, quarter) = (10 + large / 4, large % 4);
            (1 << top) + (quarter + 1) * (1 << (top - 2))
        }
    }
}

/// Maps `len` bytes, at an address when it is not 0.
pub(super) fn reserve(at: usize, len: usize) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let flags = if at == 0 { flags } else { flags | libc::MAP_FIXED_NOREPLACE };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a free address.
    let got = unsafe { libc::mmap(at as *mut c_void, len, protection, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        real::fatal("the machine has no more memory");
    }
    got as usize
}

fn with_arena<R>(work: impl FnOnce(&mut Arena) -> R) -> R {
    while SHARED.busy.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    // SAFETY: the thread that set `busy` is alone.
    let done = work(unsafe { &mut *SHARED.arena.get() });
    SHARED.busy.store(false, Ordering::Release);
    done
}

impl Arena {
    /// A block of a class, and whether it was never used.
    fn allocate(&mut self, class: usize) -> (usize, bool) {
        let free = self.free[class];
        if free != 0 {
            // SAFETY: a free block's first word is the next one.
            self.free[class] = unsafe { *(free as *const usize) };
            return (free, false);
        }
        if self.end == 0 {
            self.next = reserve(BASE, RANGE);
            self.end = self.next + RANGE;
        }
        let start = self.next;
        self.next += HEAD + size_of_class(class);
        if self.next > self.end {
            real::fatal("the run has no more addresses");
        }
        (start + HEAD, true)
    }
}

/// A block of at least `size` bytes at a multiple of `align`, and whether it is all zeros.
fn allocate_block(size: usize, align: usize) -> (usize, bool) {
    let more = if align > HEAD { align } else { 0 };
    let Some(size) = size.checked_add(more).filter(|size| *size < RANGE / 4) else {
        return (0, false);
    };
    let class = class_of(size);
    let (start, fresh) = match IS_ASIDE.get() || !inside() {
        true => (allocate_aside(HEAD + size_of_class(class)) + HEAD, true),
        false => with_arena(|arena| arena.allocate(class)),
    };
    let block = start.next_multiple_of(align.max(1));
    let head = Head { start, class: class as u32, skip: (block - start) as u32 };
    // SAFETY: there is room for it before each block.
    unsafe { ((block - HEAD) as *mut Head).write(head) };
    (block, fresh)
}

fn allocate_aside(len: usize) -> usize {
    if ASIDE.load(Ordering::Acquire) == 0 {
        // Before there is a second thread.
        ASIDE.store(reserve(ASIDE_BASE, ASIDE_RANGE), Ordering::Release);
    }
    let start = ASIDE.fetch_add(len.next_multiple_of(16), Ordering::Relaxed);
    if start + len > ASIDE_BASE + ASIDE_RANGE {
        real::fatal("the address range outside of the run is used up");
    }
    start
}

fn head_of(block: usize) -> &'static Head {
    // SAFETY: each block has one before it.
    unsafe { &*((block - HEAD) as *const Head) }
}

fn usable(block: usize) -> usize {
    let head = head_of(block);
    size_of_class(head.class as usize) - head.skip as usize
}

fn fail_with(errno: c_int) -> *mut c_void {
    real::fail(errno);
    std::ptr::null_mut()
}

fn allocate(size: usize, align: usize) -> *mut c_void {
    match allocate_block(size, align) {
        (0, _) => fail_with(libc::ENOMEM),
        (block, _) => block as *mut c_void,
    }
}

/// See `malloc(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: size_t) -> *mut c_void {
    allocate(size, HEAD)
}

/// See `malloc(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: size_t, size: size_t) -> *mut c_void {
    let Some(size) = count.checked_mul(size) else { return fail_with(libc::ENOMEM) };
    match allocate_block(size, HEAD) {
        (0, _) => fail_with(libc::ENOMEM),
        (block, fresh) => {
            if !fresh {
                // SAFETY: the block has at least this length.
                unsafe { std::ptr::write_bytes(block as *mut u8, 0, size) };
            }
            block as *mut c_void
        }
    }
}

/// See `malloc(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    // A thread that left the world frees nothing either: the time at which it does is not
    // deterministic.
    if block.is_null() || is_aside(block as usize) || !inside() {
        return;
    }
    let Head { start, class, .. } = *head_of(block as usize);
    let size = size_of_class(class as usize);
    if size >= LARGE {
        let from = (start + 8).next_multiple_of(4096);
        let to = (start + size) & !4095;
        // SAFETY: whole pages within the block.
        unsafe { libc::madvise(from as *mut c_void, to.saturating_sub(from), libc::MADV_DONTNEED) };
    }
    with_arena(|arena| {
        // SAFETY: the block is not used any more; its first word is ours.
        unsafe { *(start as *mut usize) = arena.free[class as usize] };
        arena.free[class as usize] = start;
    });
}

/// See `malloc(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: size_t) -> *mut c_void {
    if block.is_null() {
        return allocate(size, HEAD);
    }
    let has = usable(block as usize);
    if size <= has && size >= has / 4 {
        return block;
    }
    let new = allocate(size, HEAD);
    if !new.is_null() {
        // SAFETY: both have at least this length, and they are not the same.
        unsafe {
            std::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), has.min(size));
            free(block);
        }
    }
    new
}

/// See `malloc(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(block: *mut c_void, count: size_t, size: size_t) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: passed through unchanged.
        Some(size) => unsafe { realloc(block, size) },
        None => fail_with(libc::ENOMEM),
    }
}

/// See `posix_memalign(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: size_t, size: size_t) -> c_int {
    let block = allocate(size, align);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller gave room for it.
    unsafe { *out = block };
    0
}

/// See `aligned_alloc(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(align: size_t, size: size_t) -> *mut c_void {
    allocate(size, align)
}

/// See `memalign(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(align: size_t, size: size_t) -> *mut c_void {
    allocate(size, align)
}

/// See `valloc(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn valloc(size: size_t) -> *mut c_void {
    allocate(size, 4096)
}

/// See `malloc_usable_size(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> size_t {
    if block.is_null() { 0 } else { usable(block as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_it_is_for_and_wastes_little() {
        for size in (1..5000).chain([1 << 20, (1 << 20) + 1, 3 << 30]) {
            let class = class_of(size);
            assert!(class < CLASSES);
            assert!(size_of_class(class) >= size, "{size}");
            assert!(size_of_class(class) <= (size + size / 4 + 16).max(16), "{size}");
            assert!(class == 0 || size_of_class(class - 1) < size, "{size}");
        }
    }

    #[test]
    fn blocks_are_aligned_keep_their_bytes_and_come_back() {
        // SAFETY: blocks of our own.
        unsafe {
            for align in [16, 64, 4096, 1 << 20] {
                let block = aligned_alloc(align, 100);
                assert_eq!(block as usize % align, 0);
                assert!(malloc_usable_size(block) >= 100);
                free(block);
            }
            let block = calloc(10, 10).cast::<u8>();
            assert!((0..100).all(|at| *block.add(at) == 0));
            *block = 7;
            let longer = realloc(block.cast(), 100_000).cast::<u8>();
            assert_eq!(*longer, 7);
            free(longer.cast());
            // Hidden from the optimiser, which may remove an unused allocation.
            assert!(std::hint::black_box(malloc(usize::MAX)).is_null());
            assert!(std::hint::black_box(calloc(usize::MAX, 2)).is_null());
        }
    }
}
