//! Machines, and the processes on them.

use std::ffi::c_char;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, size_t};

use super::clock::Clock;
use super::disk::Disk;
use super::random::Random;
use super::suspend::Sleep;
use super::{inside, machine, park, real, world};

/// A machine.
#[derive(Debug)]
pub struct Machine {
    /// Its place in the world; also the end of its address.
    pub number: usize,
    /// Faults of its clocks.
    pub clock: Clock,
    /// Faults of its disks.
    pub disk: Disk,
    /// True if it has power.
    pub up: bool,
    /// Suspension, and its total duration.
    pub sleep: Sleep,
    /// Counts the processes that ended here.
    lives: usize,
}

impl Machine {
    pub(super) fn new(number: usize) -> Self {
        let (clock, disk, sleep) = (Clock::default(), Disk::default(), Sleep::default());
        Self { number, clock, disk, up: true, sleep, lives: 0 }
    }
}

/// A process: ends when it is killed, or with the world.
#[derive(Debug)]
pub struct Process {
    /// Its machine.
    pub machine: usize,
    /// True if it runs.
    pub alive: bool,
    /// Time of its end.
    pub ended: Option<u64>,
}

impl Process {
    pub(super) fn new(machine: usize) -> Self {
        Self { machine, alive: true, ended: None }
    }
}

/// End of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As by `kill -9`: its writes survive.
    Killed,
    /// With the machine's power: unsynced data may be lost.
    PowerLost,
}

/// Adds a machine.
pub fn add_machine(clock: Clock) -> usize {
    let machines = &mut world().machines;
    let number = machines.len();
    machines.push(Machine { clock, ..Machine::new(number) });
    number
}

/// The directory of the process that runs on a machine, or is to run. It has another name for each:
/// an earlier one that still runs until it has released its last lock writes to the old one,
/// without effect.
pub fn home(machine: usize) -> PathBuf {
    super::disk::directory(machine).join(format!("life-{}", world().machines[machine].lives))
}

/// The address of a machine.
pub fn address(machine: usize) -> String {
    format!("10.0.0.{machine}")
}

/// Starts a process on a machine: a thread, and all those that it starts.
pub fn start(
    machine: usize,
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> (usize, Arc<AtomicBool>) {
    let world = world();
    let process = world.processes.len();
    world.processes.push(Process::new(machine));
    world.machines[machine].up = true;
    world.start_for(Some(process));
    let ended = Arc::new(AtomicBool::new(false));
    let at_end = ended.clone();
    let thread = std::thread::Builder::new().name(name.to_owned());
    let started = thread.stack_size(8 << 20).spawn(move || {
        run();
        at_end.store(true, Ordering::Release);
    });
    super::world().start_for(None);
    if started.is_err() {
        real::fatal("the machine has no more threads");
    }
    (process, ended)
}

/// Ends a process. Its disk stays as it is now, its peers notice as they would, and its threads
/// stop, except those that hold a lock of the C library: threads of other processes may wait for
/// it, since they share RocksDB's process-wide objects.
pub fn kill(process: usize, end: End) {
    let world = world();
    if !std::mem::replace(&mut world.processes[process].alive, false) {
        return;
    }
    world.processes[process].ended = Some(world.now);
    let machine = world.processes[process].machine;
    // A machine without power is not suspended any more.
    world.resume(machine);
    if end == End::PowerLost {
        world.machines[machine].up = false;
        let mut random: Random = world.random.split();
        super::disk::lose(machine, &mut random);
    }
    super::disk::forget_open_files(machine);
    let old = home(machine);
    world.machines[machine].lives += 1;
    if old.exists() && std::fs::rename(&old, home(machine)).is_err() {
        real::fatal("the directory of a process that ended cannot be renamed");
    }
    super::socket::abandon(process, end);
    leave(process);
}

/// Ends the calling thread's process.
pub fn exit() {
    kill(world().schedule.process_of_me(), End::Killed);
}

/// See `abort(3)`: ends the calling thread's process, as the signal would.
#[unsafe(no_mangle)]
unsafe extern "C" fn abort() -> ! {
    if inside() && world().schedule.process_of_me() != 0 {
        real::say("a process aborts\n");
        exit();
    }
    // SAFETY: ends this process.
    unsafe {
        libc::signal(libc::SIGABRT, libc::SIG_DFL);
        libc::raise(libc::SIGABRT);
        libc::_exit(134)
    }
}

fn leave(process: usize) {
    if world().forget_threads(process) {
        loop {
            park(None);
        }
    }
}

/// Ends the calling thread permanently if its process was killed and it holds no lock.
pub(super) fn leave_if_dead() {
    let process = world().schedule.process_of_me();
    if !world().processes[process].alive {
        leave(process);
    }
}

/// See `gethostname(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gethostname(name: *mut c_char, len: size_t) -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::gethostname(name, len) };
    }
    let address = address(machine().number);
    if address.len() >= len {
        return real::fail(libc::ENAMETOOLONG);
    }
    // SAFETY: there is room for it and a zero byte.
    unsafe {
        std::ptr::copy_nonoverlapping(address.as_ptr().cast(), name, address.len());
        *name.add(address.len()) = 0;
    }
    0
}
