//! One seeded generator: of every choice of the world, and of the bytes that the process takes for
//! random.

use std::cell::Cell;

use libc::{c_int, c_uint, c_void, size_t, ssize_t};

use super::schedule::me;
use super::{inside, real, world};

/// SplitMix64: small, and any seed is a good one.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Below a bound, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// From `low` up to and without `high`.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).max(1))
    }

    /// True once in `of` times.
    pub fn one_in(&mut self, of: u64) -> bool {
        of > 0 && self.below(of) == 0
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// A generator of its own, for a part whose choices must not depend on the others'.
    pub fn split(&mut self) -> Self {
        Self(self.next())
    }
}

/// Fills a buffer as `getrandom` does.
pub(super) fn fill(buffer: *mut c_void, len: size_t) -> ssize_t {
    let random = &mut world().random;
    for at in 0..len {
        // SAFETY: the caller gave a buffer of that length.
        unsafe { *buffer.cast::<u8>().add(at) = random.next() as u8 };
    }
    len as ssize_t
}

/// See `getrandom(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, len: size_t, flags: c_uint) -> ssize_t {
    match inside() {
        true => fill(buffer, len),
        // SAFETY: passed through unchanged.
        false => unsafe { real::getrandom(buffer, len, flags) },
    }
}

/// See `getentropy(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(buffer: *mut c_void, len: size_t) -> c_int {
    // SAFETY: passed through unchanged.
    let got = unsafe { getrandom(buffer, len, 0) };
    if got == len as ssize_t { 0 } else { -1 }
}

/// See `sched_getcpu(3)`: RocksDB spreads by it what it counts.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getcpu() -> c_int {
    match inside() {
        true => 0,
        // SAFETY: takes nothing.
        false => unsafe { real::sched_getcpu() },
    }
}

/// C++'s `std::random_device`: RocksDB names its files and sessions with it.
#[unsafe(no_mangle)]
unsafe extern "C" fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> c_uint {
    let mut value: c_uint = 0;
    match inside() {
        true => {
            fill((&raw mut value).cast(), size_of::<c_uint>());
            value
        }
        // SAFETY: passed through unchanged.
        false => unsafe { real::_ZNSt13random_device9_M_getvalEv(device) },
    }
}

thread_local! {
    /// State of RocksDB's generator of this thread: never 0, below 2^31 - 1.
    static ROCKSDB: Cell<u32> = const { Cell::new(0) };
}

/// RocksDB's generator of a thread, which it would seed by the thread's address. It decides how
/// high towers of its skip lists are, and so when a table in memory is full.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN7rocksdb6Random14GetTLSInstanceEv() -> *mut u32 {
    ROCKSDB.with(|state| {
        if state.get() == 0 {
            // By the thread's number: a call must change nothing for other threads.
            let number = me().unwrap_or(0) as u64;
            state.set((Random::new(number).next() % 0x7fff_fffe) as u32 + 1);
        }
        state.as_ptr()
    })
}

/// RocksDB's names of sessions, which are in the keys of its caches. It would make them of the
/// addresses of threads, too, and those depend on when the kernel is done with threads that ended.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN7rocksdb25SemiStructuredUniqueIdGen12GenerateNextEPmS1_(
    _this: *mut c_void,
    upper: *mut u64,
    lower: *mut u64,
) {
    let random = &mut world().random;
    // SAFETY: the caller gave room for both.
    unsafe { (*upper, *lower) = (random.next(), random.next()) };
}

/// RocksDB's source of names that the kernel makes up, which it writes into every file of a table:
/// there is none, and it makes them from what the world gives it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN7rocksdb4port15GenerateRfcUuidEPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(
    _into: *mut c_void,
) -> bool {
    false
}

/// See `getpid(2)`: the same in each run.
#[unsafe(no_mangle)]
unsafe extern "C" fn getpid() -> c_int {
    match inside() {
        true => 1000 + world().schedule.process_of_me() as c_int,
        // SAFETY: takes nothing.
        false => unsafe { real::getpid() },
    }
}
