//! The clock by which leases end and by which staleness is measured.
//!
//! It is the operating system's `CLOCK_BOOTTIME`: it is never set, and it goes on while the machine
//! is suspended. `CLOCK_MONOTONIC`, which [`std::time::Instant`] reads, stands still then: a leader
//! that sleeps for a minute would find its lease as it was, while the others have elected another
//! leader.

use std::sync::Arc;
use std::time::Duration;

/// Tells how much time has passed since an arbitrary moment, the time of a suspended machine
/// included.
#[derive(Clone, Default)]
pub struct Clock {
    /// What is read instead of the operating system's clock.
    source: Option<Arc<dyn Fn() -> Duration + Send + Sync>>,
}

impl Clock {
    /// A clock that shows what `source` returns, for tests and simulations. It must never go
    /// backwards.
    pub fn from_fn(source: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)) }
    }

    /// What it shows, in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        let shown = match &self.source {
            Some(source) => source(),
            None => boot_time(),
        };
        u64::try_from(shown.as_nanos()).unwrap_or(u64::MAX - 1)
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.source.is_some() { "Clock(given)" } else { "Clock(CLOCK_BOOTTIME)" })
    }
}

/// Time since the machine was started. By way of the C library, whose clocks a simulation replaces.
fn boot_time() -> Duration {
    let mut shown = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for what the call returns. It has no other way to fail than a clock
    // that is not known, and Linux has known this one since 2.6.39.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut shown) };
    debug_assert_eq!(failed, 0);
    Duration::new(
        u64::try_from(shown.tv_sec).unwrap_or(0),
        u32::try_from(shown.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_clock_goes_on_and_is_that_of_the_boot() {
        let clock = Clock::default();
        let text = std::fs::read_to_string("/proc/uptime").unwrap();
        let up: f64 = text.split_whitespace().next().unwrap().parse().unwrap();
        let (first, second) = (clock.now(), clock.now());
        assert!(first <= second);
        // The file shows CLOCK_BOOTTIME, in hundredths of a second.
        assert!(second as f64 / 1e9 >= up - 0.02, "{second} ns after {up} s");
    }

    #[test]
    fn a_given_clock_is_read_in_nanoseconds() {
        assert_eq!(Clock::from_fn(|| Duration::from_millis(3)).now(), 3_000_000);
    }
}
