//! Threads of the C library: each gets its place in the [schedule](super::schedule) before it runs, and gives it up
//! when the last destructor of its thread-locals is through.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use libc::{c_char, c_int, pthread_attr_t, pthread_key_t, pthread_t};

use super::real::{self, Start};
use super::schedule::{Key, enter, finish};
use super::{inside, wait_on, world, yield_now};

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
    // SAFETY: the key exists; the value only has to be none of nothing.
    unsafe { libc::pthread_setspecific(*key, std::ptr::dangling::<u8>().cast()) };
}

/// Destructors of other keys may still come: lets them go first as often as the C library asks.
unsafe extern "C" fn end(_: *mut c_void) {
    ENDING.set(ENDING.get() + 1);
    match ENDING.get() < ROUNDS {
        true => arm(),
        false => finish(),
    }
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
        // SAFETY: passed on as it came.
        return unsafe { real::pthread_create(out, attr, start, arg) };
    }
    let number = world().add_thread();
    let beginning = Box::into_raw(Box::new(Beginning { number, start, arg }));
    // SAFETY: `begin` takes what it is given; the rest is passed on.
    let made = unsafe { real::pthread_create(out, attr, begin, beginning.cast()) };
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
    }
    // SAFETY: passed on; the thread is past everything that waits for others.
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
    // SAFETY: passed on as it came.
    unsafe { real::pthread_setname_np(thread, name) }
}

/// See `sched_yield(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    if !inside() {
        // SAFETY: passed on as it came.
        return unsafe { real::sched_yield() };
    }
    // Whoever spins sees time go by.
    world().now += 1000;
    yield_now();
    0
}
