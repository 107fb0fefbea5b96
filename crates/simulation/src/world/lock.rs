//! Waits of threads for each other: futexes (of Rust's locks) and the C library's locks (of C++).
//!
//! The C library's locks keep their own state; only waiting is done here, for a thread that waited
//! inside of the C library would keep all other threads from running.

use libc::{c_int, c_long, clockid_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, timespec};

use super::hooks::{self, Hook};
use super::schedule::Key;
use super::{clock, inside, maybe_yield, random, real, wait_on, wake, world};

/// Maximum delay of a slow lock, in nanoseconds.
const MAX_LOCK_DELAY: u64 = 20_000_000;

/// See `syscall(2)`: Rust's locks use it.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    n: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if inside() {
        if n == libc::SYS_futex {
            return futex(a, b as c_int, c as u32, d as *const timespec);
        }
        if n == libc::SYS_gettid {
            return c_long::from(super::thread::id());
        }
        if n == libc::SYS_getrandom {
            return random::fill(a as *mut libc::c_void, b as usize) as c_long;
        }
    }
    // SAFETY: passed through unchanged.
    unsafe { real::syscall(n, a, b, c, d, e, f) }
}

fn futex(address: c_long, op: c_int, value: u32, timeout: *const timespec) -> c_long {
    let of_clock = match op & libc::FUTEX_CLOCK_REALTIME != 0 {
        true => libc::CLOCK_REALTIME,
        false => libc::CLOCK_MONOTONIC,
    };
    let op = op & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let key = Key::At(address as usize);
    match op {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            // SAFETY: the caller waits on a word of its own.
            if unsafe { *(address as *const u32) } != value {
                return c_long::from(real::fail(libc::EAGAIN));
            }
            // SAFETY: null, or a time the caller gave.
            let timeout = unsafe { timeout.as_ref() };
            let deadline = timeout.map(|t| match op {
                libc::FUTEX_WAIT => clock::after(t),
                _ => clock::due(of_clock, t),
            });
            if let Some(end) = hooks::spurious_end(deadline) {
                wait_on(key, Some(end));
                return 0;
            }
            if wait_on(key, deadline) { 0 } else { c_long::from(real::fail(libc::ETIMEDOUT)) }
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let woken = wake(key, value as usize);
            hooks::delay(Hook::SlowLock, MAX_LOCK_DELAY);
            if woken > 0 {
                maybe_yield();
            }
            woken as c_long
        }
        other => real::fatal(&format!("futex operation {other} is not simulated")),
    }
}

/// See `pthread_mutex_lock(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::pthread_mutex_lock(mutex) };
    }
    hooks::delay(Hook::SlowLock, MAX_LOCK_DELAY);
    super::schedule::give_way();
    loop {
        // SAFETY: the caller's mutex.
        let tried = unsafe { real::pthread_mutex_trylock(mutex) };
        if tried != libc::EBUSY {
            world().holds(tried == 0, 1);
            return tried;
        }
        wait_on(Key::At(mutex as usize), None);
    }
}

/// See `pthread_mutex_trylock(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: passed through unchanged.
    let tried = unsafe { real::pthread_mutex_trylock(mutex) };
    if inside() {
        world().holds(tried == 0, 1);
    }
    tried
}

/// See `pthread_mutex_unlock(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: passed through unchanged.
    let unlocked = unsafe { real::pthread_mutex_unlock(mutex) };
    if inside() {
        world().holds(unlocked == 0, -1);
        if wake(Key::At(mutex as usize), 1) > 0 {
            maybe_yield();
        }
        super::node::leave_if_dead();
    }
    unlocked
}

/// Releases the mutex, waits for the condition, and takes the mutex again.
unsafe fn wait(cond: usize, mutex: *mut pthread_mutex_t, deadline: Option<u64>) -> c_int {
    // SAFETY: the caller holds the mutex.
    unsafe { real::pthread_mutex_unlock(mutex) };
    world().holds(true, -1);
    wake(Key::At(mutex as usize), 1);
    super::node::leave_if_dead();
    let woken = match hooks::spurious_end(deadline) {
        Some(end) => {
            wait_on(Key::At(cond), Some(end));
            true
        }
        None => wait_on(Key::At(cond), deadline),
    };
    // SAFETY: the caller's mutex.
    unsafe { pthread_mutex_lock(mutex) };
    if woken { 0 } else { libc::ETIMEDOUT }
}

/// See `pthread_cond_wait(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    match inside() {
        // SAFETY: as the caller's.
        true => unsafe { wait(cond as usize, mutex, None) },
        // SAFETY: passed through unchanged.
        false => unsafe { real::pthread_cond_wait(cond, mutex) },
    }
}

/// See `pthread_cond_timedwait(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    match inside() {
        // SAFETY: as the caller's.
        true => unsafe {
            wait(cond as usize, mutex, Some(clock::due(libc::CLOCK_REALTIME, &*until)))
        },
        // SAFETY: passed through unchanged.
        false => unsafe { real::pthread_cond_timedwait(cond, mutex, until) },
    }
}

/// See `pthread_cond_clockwait(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_clockwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    of_clock: clockid_t,
    until: *const timespec,
) -> c_int {
    match inside() {
        // SAFETY: as the caller's.
        true => unsafe { wait(cond as usize, mutex, Some(clock::due(of_clock, &*until))) },
        // SAFETY: passed through unchanged.
        false => unsafe { real::pthread_cond_clockwait(cond, mutex, of_clock, until) },
    }
}

/// See `pthread_cond_signal(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_signal(cond: *mut pthread_cond_t) -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::pthread_cond_signal(cond) };
    }
    wake(Key::At(cond as usize), 1);
    0
}

/// See `pthread_cond_broadcast(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_broadcast(cond: *mut pthread_cond_t) -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::pthread_cond_broadcast(cond) };
    }
    wake(Key::At(cond as usize), usize::MAX);
    0
}

macro_rules! rwlock {
    ($name:ident, $real:ident, $try:ident) => {
        /// See `pthread_rwlock_rdlock(3)`.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut pthread_rwlock_t) -> c_int {
            if !inside() {
                // SAFETY: passed through unchanged.
                return unsafe { real::$real(lock) };
            }
            loop {
                // SAFETY: the caller's lock.
                let tried = unsafe { real::$try(lock) };
                if tried != libc::EBUSY {
                    return tried;
                }
                wait_on(Key::At(lock as usize), None);
            }
        }
    };
}

rwlock!(pthread_rwlock_rdlock, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock);
rwlock!(pthread_rwlock_wrlock, pthread_rwlock_wrlock, pthread_rwlock_trywrlock);

/// See `pthread_rwlock_unlock(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: passed through unchanged.
    let unlocked = unsafe { real::pthread_rwlock_unlock(lock) };
    if inside() {
        wake(Key::At(lock as usize), usize::MAX);
    }
    unlocked
}
