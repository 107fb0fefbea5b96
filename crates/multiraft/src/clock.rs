//! The clock for leases and staleness.
//!
//! It is the operating system's `CLOCK_BOOTTIME`: it is never set, and advances while the machine
//! is suspended. `CLOCK_MONOTONIC`, read by [`std::time::Instant`], stands still then: a leader
//! suspended for a minute would find its lease still valid, although another leader has been
//! elected.

use std::sync::Arc;
use std::time::Duration;

/// Measures the time since an arbitrary moment, including the time of a suspended machine.
#[derive(Clone, Default)]
pub struct Clock {
    /// The source that replaces the operating system's clock.
    source: Option<Arc<dyn Fn() -> Duration + Send + Sync>>,
}

impl Clock {
    /// A clock that returns the values of `source`, for tests and simulations. It must never go
    /// backwards.
    pub fn from_fn(source: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)) }
    }

    /// The current reading in nanoseconds.
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

/// Time since boot. Read through the C library, whose clocks a simulation replaces.
fn boot_time() -> Duration {
    let mut shown = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a struct of the result's type. The call fails only for an unknown
    // clock, and Linux has had this one since 2.6.39.
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
        // The file contains CLOCK_BOOTTIME in hundredths of a second.
        assert!(second as f64 / 1e9 >= up - 0.02, "{second} ns after {up} s");
    }

    #[test]
    fn a_given_clock_is_read_in_nanoseconds() {
        assert_eq!(Clock::from_fn(|| Duration::from_millis(3)).now(), 3_000_000);
    }
}
