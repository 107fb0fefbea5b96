//! A machine that is suspended and resumes later: meanwhile none of its threads runs, it receives
//! nothing, and its waits are extended by its sleep. Its calendar and `CLOCK_BOOTTIME` continue,
//! `CLOCK_MONOTONIC` does not.
//!
//! A thread that holds a lock of the C library runs until it has released it: here, threads of
//! other processes may wait for it.

use super::World;

/// Of a machine that is or was suspended.
#[derive(Debug, Default)]
pub struct Sleep {
    /// Since when, in nanoseconds of the world.
    pub(super) since: Option<u64>,
    /// For how long in all, without the present time.
    pub(super) slept: u64,
    /// Runnable threads.
    held: Vec<usize>,
    /// Waits whose time is over: the thread, the number of its wait, and when it was.
    late: Vec<(usize, u64, u64)>,
}

impl World {
    fn sleep_of(&mut self, process: usize) -> &mut Sleep {
        let machine = self.processes[process].machine;
        &mut self.machines[machine].sleep
    }

    /// Suspends a machine.
    pub fn suspend(&mut self, machine: usize) {
        let now = self.now;
        self.machines[machine].sleep.since.get_or_insert(now);
        let held = self.hold_threads(machine);
        self.machines[machine].sleep.held.extend(held);
    }

    /// Resumes a suspended machine.
    pub fn resume(&mut self, machine: usize) {
        let now = self.now;
        let sleep = &mut self.machines[machine].sleep;
        let Some(since) = sleep.since.take() else { return };
        sleep.slept += now - since;
        let (held, late) = (std::mem::take(&mut sleep.held), std::mem::take(&mut sleep.late));
        for (thread, waits, due) in late {
            self.extend_wait(thread, waits, due);
        }
        for thread in held {
            self.make_runnable(thread);
        }
    }

    /// Returns `true` if a machine's threads run.
    pub fn is_awake(&self, machine: usize) -> bool {
        self.machines[machine].sleep.since.is_none()
    }

    /// Total suspension of a process' machine until now.
    pub(super) fn slept(&mut self, process: usize) -> u64 {
        self.sleep_of(process).slept
    }

    /// Takes a thread that could run, if its machine is suspended.
    pub(super) fn holds_back(&mut self, process: usize, thread: usize) -> bool {
        let sleep = self.sleep_of(process);
        let asleep = sleep.since.is_some();
        if asleep {
            sleep.held.push(thread);
        }
        asleep
    }

    /// Takes a wait whose time is over, if the thread's machine is suspended.
    pub(super) fn holds_wait(&mut self, process: usize, wait: (usize, u64, u64)) -> bool {
        let sleep = self.sleep_of(process);
        let asleep = sleep.since.is_some();
        if asleep {
            sleep.late.push(wait);
        }
        asleep
    }
}
