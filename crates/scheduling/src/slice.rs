//! `sched_getattr` and `sched_setattr` of the calling thread.

use std::mem::{size_of, zeroed};

/// Requests the kernel's default slice.
pub(crate) const USUAL: u64 = 0;

/// Scheduling attributes of a thread.
#[derive(Clone, Copy)]
pub(crate) struct Attributes(libc::sched_attr);

impl Attributes {
    /// Those of the calling thread; `None` if it is not a normal thread, or the kernel does not
    /// support the call.
    pub(crate) fn of_this_thread() -> Option<Self> {
        let size = size_of::<libc::sched_attr>();
        // SAFETY: all fields are numbers, for which zero is valid.
        let mut found: libc::sched_attr = unsafe { zeroed() };
        // SAFETY: the kernel writes no more than `size` bytes to a structure of that size, which
        // outlives the call. Thread 0 is the calling one.
        let failed = unsafe {
            libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, size as libc::c_uint, 0)
        };
        let is_usual = [libc::SCHED_OTHER, libc::SCHED_BATCH]
            .iter()
            .any(|policy| u32::try_from(*policy) == Ok(found.sched_policy));
        (failed == 0 && is_usual).then_some(Self(found))
    }

    /// Nanoseconds; 0 on kernels without slices.
    pub(crate) fn slice(&self) -> u64 {
        self.0.sched_runtime
    }

    /// The same with another slice, in nanoseconds or [`USUAL`].
    pub(crate) fn with_slice(mut self, slice: u64) -> Self {
        self.0.sched_runtime = slice;
        self
    }

    /// Applies them to the calling thread; returns `true` if the kernel accepted them.
    pub(crate) fn apply(&self) -> bool {
        let mut wanted = self.0;
        wanted.size = size_of::<libc::sched_attr>() as u32;
        // SAFETY: the kernel reads `size` bytes of a structure of that size, which outlives the
        // call. Thread 0 is the calling one.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) == 0 }
    }

    /// From -20, the highest priority, to 19.
    pub(crate) fn nice(&self) -> i32 {
        self.0.sched_nice
    }

    /// The same with another nice value.
    pub(crate) fn with_nice(mut self, nice: i32) -> Self {
        self.0.sched_nice = nice;
        self
    }
}
