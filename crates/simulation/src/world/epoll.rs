//! File descriptors that are not files: epolls, event counters and sockets.
//!
//! Each such descriptor is a real one (an event counter that is not used), so that its number is
//! its own.

use std::collections::{BTreeMap, VecDeque};

use libc::{c_int, c_uint, epoll_event, iovec, size_t, ssize_t};
use rustc_hash::FxHashMap;

use super::hooks::{self, Hook};
use super::schedule::Key;
use super::socket::{self, Socket};
use super::{World, clock, disk, inside, machine, maybe_yield, real, wait_on, world};

/// The object of a descriptor; several descriptors may share it.
pub(super) struct Object {
    pub(super) process: usize,
    pub(super) refs: u32,
    /// Epolls that watch it, and by which descriptor.
    watchers: Vec<(usize, c_int)>,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Epoll { interests: BTreeMap<c_int, (u32, u64)>, ready: VecDeque<c_int> },
    Event { count: u64 },
    Socket(Box<Socket>),
}

/// The descriptors of all processes.
#[derive(Default)]
pub struct Descriptors {
    pub(super) by_fd: FxHashMap<c_int, usize>,
    pub(super) objects: FxHashMap<usize, Object>,
    next: usize,
}

impl World {
    pub(super) fn object(&mut self, fd: c_int) -> Option<(usize, &mut Object)> {
        let id = *self.descriptors.by_fd.get(&fd)?;
        self.descriptors.objects.get_mut(&id).map(|object| (id, object))
    }

    /// A new object of a process, without a descriptor.
    pub(super) fn add_object(&mut self, process: usize, kind: Kind) -> usize {
        self.descriptors.next += 1;
        let id = self.descriptors.next;
        let object = Object { process, refs: 0, watchers: Vec::new(), kind };
        self.descriptors.objects.insert(id, object);
        id
    }

    /// A descriptor for an object.
    pub(super) fn open(&mut self, id: usize) -> c_int {
        // SAFETY: makes a descriptor and nothing else.
        let fd = unsafe { real::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            real::fatal("no more file descriptors");
        }
        if let Some(object) = self.descriptors.objects.get_mut(&id) {
            object.refs += 1;
        }
        self.descriptors.by_fd.insert(fd, id);
        fd
    }

    /// The readiness of an object may have changed: notifies its epolls.
    pub(super) fn notify(&mut self, id: usize) {
        let Some(object) = self.descriptors.objects.get(&id) else { return };
        for (epoll, fd) in object.watchers.clone() {
            let found = self.descriptors.objects.get_mut(&epoll).map(|o| &mut o.kind);
            if let Some(Kind::Epoll { ready, .. }) = found
                && !ready.contains(&fd)
            {
                ready.push_back(fd);
                self.wake(Key::Epoll(epoll), 1);
            }
        }
    }

    fn possible(&self, fd: c_int) -> u32 {
        let id = self.descriptors.by_fd.get(&fd);
        let object = id.and_then(|id| self.descriptors.objects.get(id));
        let bits = match object.map(|o| &o.kind) {
            Some(Kind::Event { count }) => {
                libc::EPOLLOUT | if *count > 0 { libc::EPOLLIN } else { 0 }
            }
            Some(Kind::Socket(socket)) => socket.possible(),
            _ => 0,
        };
        bits as u32
    }

    fn forget(&mut self, fd: c_int) {
        let Some(id) = self.descriptors.by_fd.remove(&fd) else { return };
        let Some(object) = self.descriptors.objects.get_mut(&id) else { return };
        object.refs -= 1;
        let last = object.refs == 0;
        let watchers = match last {
            true => std::mem::take(&mut object.watchers),
            false => Vec::new(),
        };
        for (epoll, by) in watchers {
            if let Some(Kind::Epoll { interests, .. }) =
                self.descriptors.objects.get_mut(&epoll).map(|o| &mut o.kind)
            {
                interests.remove(&by);
            }
        }
        if last {
            socket::close(self, id);
        }
    }
}

/// A new descriptor of the calling process.
pub(super) fn make(kind: Kind) -> c_int {
    let world = world();
    let process = world.schedule.process_of_me();
    if !world.processes[process].alive {
        return real::fail(libc::EMFILE);
    }
    let id = world.add_object(process, kind);
    world.open(id)
}

/// See `epoll_create1(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    match inside() {
        true => make(Kind::Epoll { interests: BTreeMap::new(), ready: VecDeque::new() }),
        // SAFETY: passed through unchanged.
        false => unsafe { real::epoll_create1(flags) },
    }
}

/// See `eventfd(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn eventfd(initial: c_uint, flags: c_int) -> c_int {
    match inside() {
        true => make(Kind::Event { count: u64::from(initial) }),
        // SAFETY: passed through unchanged.
        false => unsafe { real::eventfd(initial, flags) },
    }
}

/// See `epoll_ctl(2)`. All watching is by edges, which is all that mio asks for.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(ep: c_int, op: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::epoll_ctl(ep, op, fd, event) };
    }
    // SAFETY: null, or what the caller gave.
    let wanted = unsafe { event.as_ref() }.map(|e| (e.events, e.u64));
    let world = world();
    let Some((epoll, object)) = world.object(ep) else { return real::fail(libc::EBADF) };
    let Kind::Epoll { interests, .. } = &mut object.kind else { return real::fail(libc::EINVAL) };
    match (op, wanted) {
        (libc::EPOLL_CTL_DEL, _) => {
            interests.remove(&fd);
            if let Some((_, watched)) = world.object(fd) {
                watched.watchers.retain(|watcher| *watcher != (epoll, fd));
            }
        }
        (_, Some(wanted)) => {
            interests.insert(fd, wanted);
            if let Some((id, watched)) = world.object(fd) {
                if !watched.watchers.contains(&(epoll, fd)) {
                    watched.watchers.push((epoll, fd));
                }
                world.notify(id);
            }
        }
        (_, None) => return real::fail(libc::EFAULT),
    }
    0
}

/// See `epoll_wait(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    ep: c_int,
    events: *mut epoll_event,
    max: c_int,
    timeout: c_int,
) -> c_int {
    if !inside() {
        // SAFETY: passed through unchanged.
        return unsafe { real::epoll_wait(ep, events, max, timeout) };
    }
    if timeout != 0 && hooks::fires(Hook::Interrupt) {
        return real::fail(libc::EINTR);
    }
    let wait = machine().clock.span(timeout.max(0) as u64 * 1_000_000);
    let deadline = (timeout >= 0).then(|| world().now + wait);
    loop {
        let world = world();
        let Some((epoll, object)) = world.object(ep) else { return real::fail(libc::EBADF) };
        let Kind::Epoll { ready, .. } = &mut object.kind else { return real::fail(libc::EINVAL) };
        let candidates: Vec<c_int> = ready.drain(..).collect();
        let mut found = 0;
        for fd in candidates {
            let possible = world.possible(fd);
            let Some((_, object)) = world.object(ep) else { break };
            let Kind::Epoll { interests, ready } = &mut object.kind else { break };
            let Some((wanted, data)) = interests.get(&fd) else { continue };
            if found == max {
                ready.push_back(fd);
                continue;
            }
            let always = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
            let now = possible & (wanted | always);
            if now != 0 {
                let event = epoll_event { events: now, u64: *data };
                // SAFETY: the caller gave room for `max` of them.
                unsafe { events.add(found as usize).write_unaligned(event) };
                found += 1;
            }
        }
        if found > 0 {
            return found;
        }
        if timeout == 0 || !wait_on(Key::Epoll(epoll), deadline) {
            return 0;
        }
    }
}

/// See `read(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, data: *mut libc::c_void, len: size_t) -> ssize_t {
    if inside()
        && let Some((id, object)) = world().object(fd)
    {
        return match &mut object.kind {
            Kind::Event { count: 0 } => real::fail(libc::EAGAIN) as ssize_t,
            Kind::Event { count } => {
                // SAFETY: a caller that reads a counter gives room for one.
                unsafe { data.cast::<u64>().write_unaligned(std::mem::take(count)) };
                8
            }
            Kind::Socket(_) => socket::receive(id, data.cast(), len, false),
            Kind::Epoll { .. } => real::fail(libc::EINVAL) as ssize_t,
        };
    }
    if let Err(error) = disk::about_to_read(fd) {
        return real::fail(error) as ssize_t;
    }
    let len = disk::short(fd, 1, len);
    // SAFETY: passed through unchanged, or with room for more.
    unsafe { real::read(fd, data, len) }
}

/// See `write(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, data: *const libc::c_void, len: size_t) -> ssize_t {
    if inside()
        && let Some((id, object)) = world().object(fd)
    {
        return match &mut object.kind {
            Kind::Event { count } => {
                // SAFETY: a caller that writes to a counter gives one.
                *count += unsafe { data.cast::<u64>().read_unaligned() };
                world().notify(id);
                maybe_yield();
                8
            }
            Kind::Socket(_) => socket::transmit(id, &[(data.cast(), len)]),
            Kind::Epoll { .. } => real::fail(libc::EINVAL) as ssize_t,
        };
    }
    // SAFETY: passed through unchanged.
    unsafe { disk::write(fd, data, len) }
}

/// See `readv(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if inside()
        && let Some((id, _)) = world().object(fd)
    {
        // SAFETY: the caller gave that many parts; the first that has room is enough.
        let parts = unsafe { std::slice::from_raw_parts(parts, count as usize) };
        let Some(part) = parts.iter().find(|p| p.iov_len > 0) else { return 0 };
        return socket::receive(id, part.iov_base.cast(), part.iov_len, false);
    }
    if let Err(error) = disk::about_to_read(fd) {
        return real::fail(error) as ssize_t;
    }
    // SAFETY: passed through unchanged.
    unsafe { real::readv(fd, parts, count) }
}

/// See `writev(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller gave that many parts.
    let given = unsafe { std::slice::from_raw_parts(parts, count as usize) };
    if inside()
        && let Some((id, _)) = world().object(fd)
    {
        let parts: Vec<(*const u8, usize)> =
            given.iter().map(|p| (p.iov_base.cast_const().cast(), p.iov_len)).collect();
        return socket::transmit(id, &parts);
    }
    // SAFETY: passed through unchanged.
    unsafe { disk::write_parts(fd, given) }
}

/// See `close(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn close(fd: c_int) -> c_int {
    if inside() {
        world().forget(fd);
        disk::closed(fd);
    }
    // SAFETY: passed through unchanged.
    unsafe { real::close(fd) }
}

/// See `fcntl(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, op: c_int, arg: libc::c_long) -> c_int {
    // SAFETY: passed through unchanged.
    let done = unsafe { real::fcntl64(fd, op, arg) };
    if inside() && matches!(op, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) && done >= 0 {
        let world = world();
        if let Some((id, object)) = world.object(fd) {
            object.refs += 1;
            world.descriptors.by_fd.insert(done, id);
        }
        disk::duplicated(fd, done);
    }
    done
}

/// See `fcntl(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(fd: c_int, op: c_int, arg: libc::c_long) -> c_int {
    // SAFETY: passed through unchanged.
    unsafe { fcntl(fd, op, arg) }
}

/// Simulated time after `nanos` nanoseconds of the clock of this thread's machine.
pub(super) fn later(nanos: u64) -> u64 {
    world().now + machine().clock.span(nanos.min(100_000 * clock::SECOND))
}
