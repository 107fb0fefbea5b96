//! The world that the simulated processes live in.
//!
//! The product's code runs as it is, on real threads. The operating system is simulated: this
//! program defines the C library's functions for clocks, random bytes, threads and their locks,
//! sockets, epoll and files itself (`#[no_mangle]`), and the linker takes these in place of the
//! library's.
//!
//! * **One thread runs at a time** ([`schedule`]). It runs until it waits for something (a lock, a
//!   socket, a time), then the seed picks another runnable one. The work of a thread in between
//!   takes no time.
//! * **Time stands still** while a thread can run and jumps to the next due event when none can
//!   ([`clock`]).
//! * **The network** is a set of pipes between sockets ([`socket`]), with a delay for each
//!   direction of each pair of machines, which can be cut ([`link`]).
//! * **Disks** are directories of the real file system ([`disk`]); bytes overwritten since the last
//!   fsync are kept, to be restored as after a loss of power, or a failed fsync.
//! * **A process** is a set of threads started by one thread, their sockets and files ([`node`]),
//!   and RocksDB's threads that work for it ([`pool`]). It ends like one that is killed: its
//!   threads are never picked again.
//!
//! * **What a system may do** and hardly ever does is made frequent ([`hooks`]).
//! * **A machine** can be suspended ([`suspend`]).
//! * **Memory** has the same addresses in each run ([`memory`]).
//!
//! Every choice comes from one seeded generator, so that a seed repeats the same run.

pub mod clock;
pub mod disk;
pub mod epoll;
pub mod hooks;
pub mod link;
mod lock;
mod memory;
pub mod node;
mod pool;
pub mod random;
pub mod real;
pub mod schedule;
pub mod socket;
pub mod suspend;
mod thread;

use std::sync::atomic::{AtomicPtr, Ordering};

use rustc_hash::FxHashMap;

use self::disk::{Contract, Files};
use self::epoll::Descriptors;
use self::hooks::Hooks;
use self::link::Links;
use self::node::{Machine, Process};
use self::pool::Pools;
use self::random::Random;
use self::schedule::Schedule;

pub use self::schedule::{maybe_yield, park, wait_on, wake, yield_now};

/// All there is. Only the thread that runs touches it.
pub struct World {
    /// Nanoseconds since the beginning.
    pub now: u64,
    /// Of every choice.
    pub random: Random,
    /// The machines; the first is the observer's.
    pub machines: Vec<Machine>,
    /// All processes, including ended ones; the first is the observer's.
    pub processes: Vec<Process>,
    /// Delays and cuts.
    pub links: Links,
    /// Rates of rare system behaviour.
    pub hooks: Hooks,
    schedule: Schedule,
    /// Contract of the disks.
    pub contract: Contract,
    /// Changes of names are made by the world itself.
    quiet: bool,
    handles: FxHashMap<libc::pthread_t, usize>,
    descriptors: Descriptors,
    files: Files,
    pools: Pools,
}

static WORLD: AtomicPtr<World> = AtomicPtr::new(std::ptr::null_mut());

/// Returns `true` if the calling thread is one of the world's.
pub fn inside() -> bool {
    schedule::me().is_some()
}

/// The world. No caller may hold on to it while waiting.
pub fn world() -> &'static mut World {
    // SAFETY: made before the first thread enters it, never freed, and only one thread runs at a
    // time.
    unsafe { &mut *WORLD.load(Ordering::Relaxed) }
}

/// Changes files on behalf of the world, so that no change is reverted.
fn unobserved<R>(work: impl FnOnce() -> R) -> R {
    let before = std::mem::replace(&mut world().quiet, true);
    let done = work();
    world().quiet = before;
    done
}

/// The machine of the calling thread.
pub fn machine() -> &'static mut Machine {
    let world = world();
    let process = world.schedule.process_of_me();
    let number = world.processes[process].machine;
    &mut world.machines[number]
}

/// The calling thread's machine, for logs.
pub fn place() -> usize {
    machine().number
}

/// Makes the world; the calling thread is its first.
pub fn create(seed: u64, root: &std::path::Path) {
    let world = World {
        now: 0,
        random: Random::new(seed),
        machines: vec![Machine::new(0)],
        processes: vec![Process::new(0)],
        links: Links::default(),
        hooks: Hooks::default(),
        schedule: Schedule::default(),
        contract: Contract::default(),
        quiet: false,
        handles: FxHashMap::default(),
        descriptors: Descriptors::default(),
        files: Files::new(root),
        pools: Pools::default(),
    };
    WORLD.store(Box::into_raw(Box::new(world)), Ordering::Relaxed);
    schedule::begin();
}
