//! Time: it stands still while a thread runs, and jumps to the next due event when all wait. Each
//! read of a clock takes a moment, so that a thread that spins until some time reaches it.

use libc::{c_int, c_uint, clockid_t, time_t, timespec, timeval, useconds_t};

use super::{inside, machine, park, real, world};

/// Duration of a read of the clock.
const READ_COST: u64 = 200;
/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;
/// Start of monotonic clocks: a machine that is up for a while.
const MONOTONIC_START: u64 = 100_000 * SECOND;
/// Start of calendar clocks.
const CALENDAR_START: u64 = 1_900_000_000 * SECOND;

/// A machine's clocks, and how they are wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    /// Drift, in millionths; negative: the clock is slow.
    pub drift: i64,
    /// Offset of the calendar clock, in nanoseconds.
    pub offset: i64,
}

impl Clock {
    fn monotonic(&self, now: u64) -> u64 {
        (MONOTONIC_START + now)
            .saturating_add_signed((now as i128 * self.drift as i128 / 1_000_000) as i64)
    }

    fn calendar(&self, now: u64) -> u64 {
        (self.monotonic(now) + CALENDAR_START).saturating_add_signed(self.offset)
    }

    /// Simulated time for a `span` of this clock.
    pub fn span(&self, span: u64) -> u64 {
        (span as i128 * 1_000_000 / (1_000_000 + self.drift) as i128) as u64
    }
}

/// Reads a clock of this thread's machine.
fn read(clock: clockid_t) -> Option<u64> {
    let world = world();
    let of = machine().clock;
    let slept = machine().sleep.slept;
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => {
            Some(of.calendar(world.now))
        }
        libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_RAW | libc::CLOCK_MONOTONIC_COARSE => {
            Some(of.monotonic(world.now - slept))
        }
        libc::CLOCK_BOOTTIME => Some(of.monotonic(world.now)),
        _ => None,
    }
}

/// Simulated time at which a clock of this thread's machine shows `at`.
pub(super) fn due(clock: clockid_t, at: &timespec) -> u64 {
    let shown = at.tv_sec as u64 * SECOND + at.tv_nsec as u64;
    // The size of the number determines the clock if the caller did not specify it.
    let calendar = clock == libc::CLOCK_REALTIME && shown > CALENDAR_START / 2;
    let clock = if calendar { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    let left = shown.saturating_sub(read(clock).unwrap_or(shown));
    world().now + machine().clock.span(left)
}

/// The length of a relative wait of this thread, for the world.
pub(super) fn after(span: &timespec) -> u64 {
    let span = (span.tv_sec as u64).saturating_mul(SECOND).saturating_add(span.tv_nsec as u64);
    world().now.saturating_add(machine().clock.span(span.min(1 << 60)))
}

/// Waits until the world's clock shows `at`.
pub(super) fn sleep_until(at: u64) {
    while world().now < at {
        park(Some(at));
    }
}

fn split(at: u64) -> (i64, i64) {
    ((at / SECOND) as i64, (at % SECOND) as i64)
}

/// See `clock_gettime(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, out: *mut timespec) -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::clock_gettime(clock, out) };
    }
    world().now += READ_COST;
    world().note(|| String::from("  look"));
    // Time that a thread or the process used is the world's as well: no process may see how fast
    // the machine is.
    let (tv_sec, tv_nsec) = split(read(clock).unwrap_or(world().now));
    // SAFETY: the caller gave room for it.
    unsafe { *out = timespec { tv_sec, tv_nsec } };
    super::schedule::give_way();
    0
}

/// See `gettimeofday(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(out: *mut timeval, _zone: *mut libc::c_void) -> c_int {
    let mut at = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the callers of both gave room.
    unsafe {
        clock_gettime(libc::CLOCK_REALTIME, &mut at);
        if !out.is_null() {
            *out = timeval { tv_sec: at.tv_sec, tv_usec: at.tv_nsec / 1000 };
        }
    }
    0
}

/// See `time(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn time(out: *mut time_t) -> time_t {
    let mut at = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the callers of both gave room.
    unsafe {
        clock_gettime(libc::CLOCK_REALTIME, &mut at);
        if !out.is_null() {
            *out = at.tv_sec;
        }
    }
    at.tv_sec
}

/// See `clock_nanosleep(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    t: *const timespec,
    left: *mut timespec,
) -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::clock_nanosleep(clock, flags, t, left) };
    }
    // SAFETY: the caller gave a time.
    let t = unsafe { &*t };
    sleep_until(if flags & libc::TIMER_ABSTIME != 0 { due(clock, t) } else { after(t) });
    0
}

/// See `nanosleep(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(t: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: passed through unchanged.
    unsafe { clock_nanosleep(libc::CLOCK_MONOTONIC, 0, t, left) }
}

/// See `usleep(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(micros: useconds_t) -> c_int {
    let t = timespec {
        tv_sec: i64::from(micros / 1_000_000),
        tv_nsec: i64::from(micros % 1_000_000) * 1000,
    };
    // SAFETY: a time of our own.
    unsafe { nanosleep(&t, std::ptr::null_mut()) }
}

/// See `sleep(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let t = timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
    // SAFETY: a time of our own.
    unsafe { nanosleep(&t, std::ptr::null_mut()) };
    0
}
