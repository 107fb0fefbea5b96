//! Threads of the C library: each gets its place in the [schedule](super::schedule) before it runs,
//! and gives it up when the last destructor of its thread-locals is through.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{c_char, c_int, pthread_attr_t, pthread_key_t, pthread_t, size_t};

use super::hooks::{self, Hook};
use super::memory::aside;
use super::real::{self, Start};
use super::schedule::{Key, enter, finish, me, park};
use super::{inside, wait_on, world, yield_now};

/// The stack of a thread without a size of its own, and what sizes are multiples of.
const DEFAULT_STACK: usize = 8 << 20;
const STACK_STEP: usize = 64 << 10;
const PAGE: usize = 4096;
/// Address of the next stack.
static NEXT_STACK: AtomicUsize = AtomicUsize::new(0x3000_0000_0000);

/// Maximum delay of a thread that starts late, in nanoseconds.
const MAX_START_DELAY: u64 = 300_000_000;

/// Threads' numbers begin here.
const FIRST_ID: c_int = 1_000_000;

/// Rounds of destructors that the C library makes for keys.
const ROUNDS: usize = 4;

struct Beginning {
    number: usize,
    start: Start,
    arg: *mut c_void,
}

static LAST: OnceLock<pthread_key_t> = OnceLock::new();

thread_local! {
    static ENDING: Cell<usize> = const { Cell::new(0) };
}

extern "C" fn begin(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below, for this thread alone.
    let beginning = unsafe { Box::from_raw(beginning.cast::<Beginning>()) };
    enter(beginning.number);
    hooks::delay(Hook::LateThread, MAX_START_DELAY);
    arm();
    (beginning.start)(beginning.arg)
}

/// Sees to it that [`end`] is called when this thread ends.
fn arm() {
    let key = LAST.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the destructor lives as long as the process.
        unsafe { libc::pthread_key_create(&mut key, Some(end)) };
        key
    });
    // SAFETY: the key exists; the value only has to differ from null.
    unsafe { libc::pthread_setspecific(*key, std::ptr::dangling::<u8>().cast()) };
}

/// Destructors of other keys may still run: runs after them, as often as the C library allows.
unsafe extern "C" fn end(_: *mut c_void) {
    ENDING.set(ENDING.get() + 1);
    match ENDING.get() < ROUNDS {
        true => arm(),
        false => finish(),
    }
}

/// The caller's attributes, with a stack whose address is the same in each run: hashes are seeded
/// by such addresses, and those of the C library depend on when the kernel is done with ended
/// threads. No stack is used twice; a thread's own pages remain.
unsafe fn with_stack(attr: *const pthread_attr_t) -> pthread_attr_t {
    let mut own = MaybeUninit::<pthread_attr_t>::uninit();
    let (mut size, mut detached) = (DEFAULT_STACK, libc::PTHREAD_CREATE_JOINABLE);
    // SAFETY: attributes of the caller's, or none, and our own.
    unsafe {
        libc::pthread_attr_init(own.as_mut_ptr());
        if !attr.is_null() {
            libc::pthread_attr_getstacksize(attr, &mut size);
            pthread_attr_getdetachstate(attr, &mut detached);
        }
        size = size.next_multiple_of(STACK_STEP);
        let at = NEXT_STACK.fetch_add(size + STACK_STEP, Ordering::Relaxed);
        let stack = super::memory::reserve(at, size);
        libc::pthread_attr_setstack(own.as_mut_ptr(), stack as *mut c_void, size);
        libc::pthread_attr_setdetachstate(own.as_mut_ptr(), detached);
        own.assume_init()
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attr: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

/// See `pthread_attr_getguardsize(3)`: below a stack of the world's own nothing is mapped, which
/// the C library does not have in its attributes and Rust requests.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_attr_getguardsize(
    attr: *const pthread_attr_t,
    size: *mut libc::size_t,
) -> c_int {
    // SAFETY: passed through unchanged.
    let told = unsafe { real::pthread_attr_getguardsize(attr, size) };
    // SAFETY: filled by the call above.
    if told == 0 && unsafe { *size } == 0 {
        // SAFETY: the caller gave room for it.
        unsafe { *size = PAGE };
    }
    told
}

/// See `pthread_create(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    out: *mut pthread_t,
    attr: *const pthread_attr_t,
    start: Start,
    arg: *mut c_void,
) -> c_int {
    if !inside() {
        // SAFETY: passed on, with a stack for the thread that makes the world, too.
        return unsafe { real::pthread_create(out, &with_stack(attr), start, arg) };
    }
    let number = world().add_thread();
    let beginning = Box::into_raw(Box::new(Beginning { number, start, arg }));
    // SAFETY: `begin` takes what it is given; the caller's attributes are only read.
    let made = aside(|| unsafe {
        let own = with_stack(attr);
        real::pthread_create(out, &own, begin, beginning.cast())
    });
    if made != 0 {
        real::fatal("the machine has no more threads");
    }
    // SAFETY: filled by the call above.
    world().handles.insert(unsafe { *out }, number);
    yield_now();
    0
}

/// See `pthread_join(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: pthread_t, out: *mut *mut c_void) -> c_int {
    if inside()
        && let Some(number) = world().handles.remove(&thread)
    {
        while !world().is_done(number) {
            wait_on(Key::Join(number), None);
        }
        // A killed process' threads count as done and never end: joining one waits for ever.
        while !world().is_alive(number) {
            park(None);
        }
    }
    // SAFETY: passed through; the thread is past everything that waits for others.
    unsafe { real::pthread_join(thread, out) }
}

/// See `pthread_setname_np(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    if inside() {
        // SAFETY: the caller gave a C string.
        let given = unsafe { CStr::from_ptr(name) };
        if let Some(number) = world().handles.get(&thread).copied() {
            world().name_thread(number, given.to_string_lossy().into_owned());
        }
    }
    // SAFETY: passed through unchanged.
    unsafe { real::pthread_setname_np(thread, name) }
}

/// Processors of a simulated machine, however many the real one has: the product has as many places
/// for requests and threads as it finds processors, so that another number is another run.
const PROCESSORS: usize = 2;

/// See `sched_getaffinity(2)`, by which the standard library counts processors.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(
    pid: libc::pid_t,
    size: size_t,
    set: *mut libc::cpu_set_t,
) -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::sched_getaffinity(pid, size, set) };
    }
    // SAFETY: the caller's set has this size.
    unsafe {
        std::ptr::write_bytes(set.cast::<u8>(), 0, size);
        let bytes = std::slice::from_raw_parts_mut(set.cast::<u8>(), size);
        for number in 0..PROCESSORS.min(size * 8) {
            bytes[number / 8] |= 1 << (number % 8);
        }
    }
    0
}

/// See `sched_yield(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::sched_yield() };
    }
    // A thread that spins sees time go by.
    world().now += 1000;
    yield_now();
    0
}

/// The calling thread's number, for code that asks the system for it: always of as many digits.
pub(super) fn id() -> c_int {
    FIRST_ID + me().unwrap_or(0) as c_int
}

/// See `gettid(2)`: RocksDB writes it into its log.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettid() -> c_int {
    match inside() {
        true => id(),
        // SAFETY: takes nothing.
        false => unsafe { real::gettid() },
    }
}
