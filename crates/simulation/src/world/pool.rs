//! RocksDB's pools of threads: each process has its own.
//!
//! RocksDB keeps one set of pools for the whole real process. If the simulated ones shared it, the
//! first that opens a database would own the threads, and no other could flush any more once it is
//! killed; a disk that is slow on one machine would hold the flushes of all. The linker brings
//! RocksDB's calls of its pools here (`--wrap`, see `build.rs`), and they go to a pool of the
//! calling process, which ends with it.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::c_void;

use libc::c_int;
use rustc_hash::FxHashMap;

use super::{inside, real, world};

/// A job, or its replacement if it is taken out of the queue.
type Job = Option<unsafe extern "C" fn(*mut c_void)>;
/// `rocksdb::ThreadPoolImpl`, opaque outside of RocksDB.
type Pool = *mut c_void;

/// Bytes set aside for a pool: it has a table of functions and a pointer to its innards.
const POOL_SIZE: usize = 64;

/// The pools that processes have, by process and RocksDB's own pool.
pub(super) type Pools = FxHashMap<(usize, usize), usize>;

unsafe extern "C" {
    /// The constructor.
    fn _ZN7rocksdb14ThreadPoolImplC1Ev(pool: Pool);
    fn _ZN7rocksdb14ThreadPoolImpl10SetHostEnvEPNS_3EnvE(pool: Pool, env: *mut c_void);
    fn _ZNK7rocksdb14ThreadPoolImpl10GetHostEnvEv(pool: Pool) -> *mut c_void;
    fn _ZN7rocksdb14ThreadPoolImpl17SetThreadPriorityENS_3Env8PriorityE(pool: Pool, to: c_int);
    fn _ZNK7rocksdb14ThreadPoolImpl17GetThreadPriorityEv(pool: Pool) -> c_int;
    fn __real__ZN7rocksdb14ThreadPoolImpl28IncBackgroundThreadsIfNeededEi(pool: Pool, count: c_int);
    fn __real__ZN7rocksdb14ThreadPoolImpl8ScheduleEPFvPvES1_S1_S3_(
        pool: Pool,
        job: Job,
        arg: *mut c_void,
        tag: *mut c_void,
        instead: Job,
    );
    fn __real__ZN7rocksdb14ThreadPoolImpl10UnScheduleEPv(pool: Pool, tag: *mut c_void) -> c_int;
}

/// The calling process's pool in place of RocksDB's.
fn own(pool: Pool) -> Pool {
    if !inside() {
        return pool;
    }
    let process = world().schedule.process_of_me();
    if let Some(own) = world().pools.get(&(process, pool as usize)) {
        return *own as Pool;
    }
    let Ok(layout) = Layout::from_size_align(POOL_SIZE, 16) else { return pool };
    // SAFETY: room enough, made into a pool by its constructor before it is one of ours; no
    // other thread runs meanwhile.
    let own = unsafe {
        let own: Pool = alloc_zeroed(layout).cast();
        if own.is_null() {
            real::fatal("the machine has no more memory");
        }
        _ZN7rocksdb14ThreadPoolImplC1Ev(own);
        let env = _ZNK7rocksdb14ThreadPoolImpl10GetHostEnvEv(pool);
        _ZN7rocksdb14ThreadPoolImpl10SetHostEnvEPNS_3EnvE(own, env);
        let priority = _ZNK7rocksdb14ThreadPoolImpl17GetThreadPriorityEv(pool);
        _ZN7rocksdb14ThreadPoolImpl17SetThreadPriorityENS_3Env8PriorityE(own, priority);
        own
    };
    world().pools.insert((process, pool as usize), own as usize);
    own
}

/// See `rocksdb::ThreadPoolImpl::IncBackgroundThreadsIfNeeded`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN7rocksdb14ThreadPoolImpl28IncBackgroundThreadsIfNeededEi(
    pool: Pool,
    count: c_int,
) {
    // SAFETY: a pool like the caller's.
    unsafe {
        __real__ZN7rocksdb14ThreadPoolImpl28IncBackgroundThreadsIfNeededEi(own(pool), count);
    }
}

/// See `rocksdb::ThreadPoolImpl::Schedule`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN7rocksdb14ThreadPoolImpl8ScheduleEPFvPvES1_S1_S3_(
    pool: Pool,
    job: Job,
    arg: *mut c_void,
    tag: *mut c_void,
    instead: Job,
) {
    // SAFETY: a pool like the caller's, the rest passed through unchanged.
    unsafe {
        __real__ZN7rocksdb14ThreadPoolImpl8ScheduleEPFvPvES1_S1_S3_(
            own(pool),
            job,
            arg,
            tag,
            instead,
        );
    }
}

/// See `rocksdb::ThreadPoolImpl::UnSchedule`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN7rocksdb14ThreadPoolImpl10UnScheduleEPv(
    pool: Pool,
    tag: *mut c_void,
) -> c_int {
    // SAFETY: a pool like the caller's, the rest passed through unchanged.
    unsafe { __real__ZN7rocksdb14ThreadPoolImpl10UnScheduleEPv(own(pool), tag) }
}
