//! Scheduling of threads: how long one keeps a core while others wait for it.
//!
//! [`in_background`] is for work without waiting requests: a thread that wakes up preempts it at
//! once, although it gets its fair share of the cores all the same. With few cores, a server's
//! background work accounts for most of a request's latency.
//!
//! Linux (6.12 and later) gives each thread a slice, the time that it runs before the scheduler
//! picks another one. A thread that becomes ready with a shorter slice, and therefore an earlier
//! deadline, does not wait for the end of a longer one (EEVDF; `sched_setattr`, and `PREEMPT_SHORT`
//! among the scheduler's features). So background work has a long slice. Its weight stays the same:
//! unlike with `SCHED_IDLE`, a thread that holds a lock continues soon, and no request waits for
//! one that does not. Older kernels have no slices of single threads and ignore the call.
//!
//! The core for a thread that wakes up is chosen by the weight of the threads running there. So
//! threads that only do background work have a lower weight: RocksDB's ([`made_in_background`]),
//! and those of services ([`on_background_thread`]).
//!
//! [`Rests`] are for long work: while it occupies one core, all threads that wake up wait for the
//! others.
//!
//! A thread inherits the slice of its creator. [`in_foreground`] is for threads that serve requests
//! and may be started by background work.

use std::panic::resume_unwind;
use std::time::Duration;
use std::{io, thread};

mod background;
mod rests;
mod slice;

pub use background::{BackgroundError, on_background_thread};
pub use rests::Rests;

/// Nanoseconds: longer than the default slice, 0.7 to 2.8 ms. The kernel allows up to 100 ms, but a
/// thread that holds a lock must not be preempted for this long when cores are scarce.
const LONG: u64 = 10_000_000;

/// Runs work on this thread, which threads that wake up preempt at once in the meantime. It begins
/// with a sleep of about 60 µs, so the work should take some hundred microseconds or more.
///
/// Threads started by it inherit that, except those that begin [`in_foreground`].
pub fn in_background<T>(work: impl FnOnce() -> T) -> T {
    let _guard = InBackground::begin();
    work()
}

/// Nice value of permanent background threads: they have a ninth of the weight.
const NICER: i32 = 10;

/// Runs `make` on a thread of its own that starts others: these permanently run in the background,
/// with a ninth of the weight of threads that serve requests. For threads that hold no lock for
/// long, and start none that serves requests.
///
/// The weight determines the core for a thread that wakes up; it is not restored, because that
/// requires a privilege.
///
/// # Errors
/// If no further thread can be started.
pub fn made_in_background<T: Send>(make: impl FnOnce() -> T + Send) -> io::Result<T> {
    let make = || {
        in_background_for_good();
        make()
    };
    thread::scope(|scope| {
        let made =
            thread::Builder::new().name("background".to_owned()).spawn_scoped(scope, make)?;
        Ok(made.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Moves this thread to the background permanently.
fn in_background_for_good() {
    if let Some(usual) = slice::Attributes::of_this_thread() {
        let nice = usual.nice().saturating_add(NICER).min(19);
        usual.with_nice(nice).with_slice(usual.slice().max(LONG)).apply();
    }
}

/// Moves this thread to the foreground, whichever thread started it.
pub fn in_foreground() {
    if let Some(inherited) = slice::Attributes::of_this_thread().filter(|now| now.slice() == LONG) {
        inherited.with_slice(slice::USUAL).apply();
    }
}

/// Restores the thread's previous slice on drop.
struct InBackground {
    before: Option<slice::Attributes>,
}

impl InBackground {
    /// Threads without a slice, such as real-time ones, are left unchanged.
    fn begin() -> Self {
        let usual = slice::Attributes::of_this_thread().filter(|now| now.slice() < LONG);
        let before = usual.filter(|now| now.with_slice(LONG).apply());
        if before.is_some_and(|before| before.slice() > 0) {
            // The deadline is still that of the old slice; it is recomputed at the next wake-up.
            thread::sleep(Duration::from_nanos(1));
        }
        Self { before }
    }
}

impl Drop for InBackground {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            before.apply();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::slice::Attributes;
    use super::*;

    /// Nanoseconds; 0 on kernels without slices.
    fn slice() -> u64 {
        Attributes::of_this_thread().expect("a thread has attributes").slice()
    }

    #[test]
    fn a_thread_has_a_long_slice_for_the_time_of_the_work() {
        let usual = slice();
        let long = if usual == 0 { 0 } else { LONG };
        let (inner, made) = in_background(|| {
            let within = in_background(slice);
            assert_eq!(slice(), within, "the inner work restores the slice");
            (within, std::thread::spawn(slice).join().expect("a thread that reads its slice"))
        });
        assert_eq!((inner, made), (long, long));
        assert_eq!(slice(), usual);
        let panicked = catch_unwind(AssertUnwindSafe(|| in_background(|| panic!("as planned"))));
        assert!(panicked.is_err());
        assert_eq!(slice(), usual, "also after work that panicked");
    }

    #[test]
    fn a_thread_that_serves_requests_inherits_no_long_slice() {
        let usual = slice();
        let serve = || {
            in_foreground();
            slice()
        };
        let made = in_background(|| std::thread::spawn(serve).join());
        assert_eq!(made.expect("a thread that reads its slice"), usual);
    }

    #[test]
    fn threads_that_are_made_in_background_stay_there() {
        let of_this = || Attributes::of_this_thread().expect("attributes");
        let before = of_this();
        let (here, made) = made_in_background(|| {
            let made = std::thread::spawn(of_this);
            (of_this(), made.join().expect("a thread that reads its attributes"))
        })
        .expect("one more thread");
        let long = if before.slice() == 0 { 0 } else { LONG };
        for there in [here, made] {
            assert_eq!((there.nice(), there.slice()), (before.nice() + NICER, long));
        }
        assert_eq!((of_this().nice(), of_this().slice()), (before.nice(), before.slice()));
        let panicked = catch_unwind(|| made_in_background(|| panic!("as planned")));
        assert!(panicked.is_err());
    }

    #[test]
    fn what_else_a_thread_has_stays() {
        std::thread::spawn(|| {
            let nicer = Attributes::of_this_thread().expect("attributes").with_nice(7);
            assert!(nicer.apply());
            in_background(|| assert_eq!(Attributes::of_this_thread().expect("within").nice(), 7));
            assert_eq!(Attributes::of_this_thread().expect("after").nice(), 7);
        })
        .join()
        .expect("the thread's own assertions");
    }
}
