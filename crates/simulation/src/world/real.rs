//! The C library's own functions, which this program's definitions hide.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{
    c_char, c_int, c_long, c_uint, clockid_t, cpu_set_t, epoll_event, iovec, mode_t, off64_t,
    pid_t, pthread_attr_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_t, size_t,
    sockaddr, socklen_t, ssize_t, timespec,
};

/// A thread's first function.
pub type Start = extern "C" fn(*mut c_void) -> *mut c_void;

macro_rules! real {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {$(
        /// The library's own; those of C++ have its names.
        #[allow(non_snake_case)]
        pub unsafe fn $name($($arg: $ty),*) -> $ret {
            static FOUND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            let mut found = FOUND.load(Ordering::Relaxed);
            if found.is_null() {
                // SAFETY: the name ends with a zero byte.
                found = unsafe {
                    libc::dlsym(libc::RTLD_NEXT, concat!(stringify!($name), "\0").as_ptr().cast())
                };
                FOUND.store(found, Ordering::Relaxed);
            }
            // SAFETY: the C library's function of that name has this type.
            unsafe {
                let call: unsafe extern "C" fn($($ty),*) -> $ret = std::mem::transmute(found);
                call($($arg),*)
            }
        }
    )*};
}

real! {
    syscall(n: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long;
    clock_gettime(clock: clockid_t, out: *mut timespec) -> c_int;
    clock_nanosleep(clock: clockid_t, flags: c_int, t: *const timespec, left: *mut timespec) -> c_int;
    getrandom(buffer: *mut c_void, len: size_t, flags: c_uint) -> ssize_t;
    sched_getaffinity(pid: pid_t, size: size_t, set: *mut cpu_set_t) -> c_int;
    sched_yield() -> c_int;
    pthread_create(out: *mut pthread_t, attr: *const pthread_attr_t, start: Start, arg: *mut c_void) -> c_int;
    pthread_join(thread: pthread_t, out: *mut *mut c_void) -> c_int;
    pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
    pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int;
    pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int;
    pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int;
    pthread_cond_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
    pthread_cond_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
    pthread_cond_clockwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
    pthread_cond_signal(cond: *mut pthread_cond_t) -> c_int;
    pthread_cond_broadcast(cond: *mut pthread_cond_t) -> c_int;
    pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int;
    epoll_create1(flags: c_int) -> c_int;
    epoll_ctl(ep: c_int, op: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
    epoll_wait(ep: c_int, events: *mut epoll_event, max: c_int, timeout: c_int) -> c_int;
    eventfd(initial: c_uint, flags: c_int) -> c_int;
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int;
    listen(fd: c_int, backlog: c_int) -> c_int;
    accept4(fd: c_int, address: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int;
    connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int;
    getsockname(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int;
    getpeername(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int;
    getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut socklen_t) -> c_int;
    setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t) -> c_int;
    send(fd: c_int, data: *const c_void, len: size_t, flags: c_int) -> ssize_t;
    recv(fd: c_int, data: *mut c_void, len: size_t, flags: c_int) -> ssize_t;
    shutdown(fd: c_int, how: c_int) -> c_int;
    read(fd: c_int, data: *mut c_void, len: size_t) -> ssize_t;
    write(fd: c_int, data: *const c_void, len: size_t) -> ssize_t;
    readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    preadv2(fd: c_int, parts: *const iovec, count: c_int, at: off64_t, flags: c_int) -> ssize_t;
    pread64(fd: c_int, data: *mut c_void, len: size_t, at: off64_t) -> ssize_t;
    pwrite64(fd: c_int, data: *const c_void, len: size_t, at: off64_t) -> ssize_t;
    pwritev64(fd: c_int, parts: *const iovec, count: c_int, at: off64_t) -> ssize_t;
    ftruncate64(fd: c_int, len: off64_t) -> c_int;
    fallocate64(fd: c_int, mode: c_int, at: off64_t, len: off64_t) -> c_int;
    fsync(fd: c_int) -> c_int;
    fdatasync(fd: c_int) -> c_int;
    open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    mkdir(path: *const c_char, mode: mode_t) -> c_int;
    realpath(path: *const c_char, resolved: *mut c_char) -> *mut c_char;
    rename(from: *const c_char, to: *const c_char) -> c_int;
    unlink(path: *const c_char) -> c_int;
    rmdir(path: *const c_char) -> c_int;
    link(from: *const c_char, to: *const c_char) -> c_int;
    statvfs(path: *const c_char, out: *mut libc::statvfs) -> c_int;
    statfs(path: *const c_char, out: *mut libc::statfs) -> c_int;
    fcntl64(fd: c_int, op: c_int, arg: c_long) -> c_int;
    close(fd: c_int) -> c_int;
    gethostname(name: *mut c_char, len: size_t) -> c_int;
    sched_getcpu() -> c_int;
    pthread_attr_getguardsize(attr: *const pthread_attr_t, size: *mut size_t) -> c_int;
    getpid() -> c_int;
    gettid() -> c_int;
    _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> c_uint;
}

/// Writes to the real standard error, bypassing the simulation.
pub fn say(text: &str) {
    // SAFETY: the bytes are valid for the length given.
    unsafe { write(2, text.as_ptr().cast(), text.len()) };
}

/// Ends the process: the simulation itself is broken.
pub fn fatal(text: &str) -> ! {
    say(&format!("simulation: {text}\n"));
    // SAFETY: ends the process without anything that is simulated.
    unsafe { libc::_exit(70) }
}

/// Sets the error that the caller of a C function gets.
pub fn fail(errno: c_int) -> c_int {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = errno };
    -1
}
