//! TCP between machines: streams of bytes that arrive in order, later, or not while a link is cut.
//!
//! As real ones do: what is sent on a cut link is tried again until the link is mended; a process
//! that sends to a process that is gone is refused, to a machine without power hears nothing.

use std::collections::VecDeque;

use libc::{c_int, c_void, size_t, sockaddr, sockaddr_in, socklen_t, ssize_t};

use super::clock::SECOND;
use super::epoll::{Kind, make};
use super::hooks::{self, Hook};
use super::link::RETRANSMIT_DELAY;
use super::node::End;
use super::{World, inside, maybe_yield, real, world};

/// Bytes that one side may have sent and the other not read.
const WINDOW: usize = 256 << 10;
/// How long a connection is asked for before the system gives up.
const TRIES: u32 = 60;
const RETRY_DELAY: u64 = 1_000_000_000;
/// Connections that wait to be accepted.
const BACKLOG: usize = 1024;
/// First port of those that nobody chose.
const EPHEMERAL: u16 = 32_768;

/// A machine and a port.
pub(super) type Address = (usize, u16);

enum Packet {
    Data(Vec<u8>),
    End,
    Reset,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Listening,
    Connecting,
    Connected,
}

/// A socket.
pub(super) struct Socket {
    state: State,
    local: Address,
    remote: Address,
    /// Connections to accept.
    backlog: VecDeque<usize>,
    /// The other end, once it is there.
    peer: Option<usize>,
    arrived: VecDeque<u8>,
    /// No more will arrive.
    ended: bool,
    error: c_int,
    /// On the way to the peer, each with the time it is due.
    out: VecDeque<(u64, Packet)>,
    /// Sent and not read by the peer.
    unread: usize,
    /// Somebody was refused for want of room.
    wants_room: bool,
    /// This side has sent its end.
    shut: bool,
    /// No descriptor is left.
    closed: bool,
}

impl Socket {
    fn new(machine: usize) -> Self {
        Self {
            state: State::New,
            local: (machine, 0),
            remote: (0, 0),
            backlog: VecDeque::new(),
            peer: None,
            arrived: VecDeque::new(),
            ended: false,
            error: 0,
            out: VecDeque::new(),
            unread: 0,
            wants_room: false,
            shut: false,
            closed: false,
        }
    }

    /// What epoll would say.
    pub(super) fn possible(&self) -> c_int {
        let bit = |on: bool, bit: c_int| if on { bit } else { 0 };
        let broken = self.error != 0;
        match self.state {
            State::New => libc::EPOLLHUP,
            State::Listening => bit(!self.backlog.is_empty(), libc::EPOLLIN),
            State::Connecting => bit(broken, libc::EPOLLERR | libc::EPOLLOUT | libc::EPOLLHUP),
            State::Connected => {
                bit(!self.arrived.is_empty() || self.ended || broken, libc::EPOLLIN)
                    | bit(self.unread < WINDOW || broken, libc::EPOLLOUT)
                    | bit(self.ended, libc::EPOLLRDHUP)
                    | bit(broken || (self.ended && self.shut), libc::EPOLLHUP)
                    | bit(broken, libc::EPOLLERR)
            }
        }
    }
}

impl World {
    fn socket(&mut self, id: usize) -> Option<&mut Socket> {
        match &mut self.descriptors.objects.get_mut(&id)?.kind {
            Kind::Socket(socket) => Some(socket),
            _ => None,
        }
    }

    fn listener(&self, at: Address) -> Option<usize> {
        // In the order of their making, so that a seed finds the same.
        let listens = |kind: &Kind| matches!(kind, Kind::Socket(s) if s.state == State::Listening && s.local == at && !s.closed);
        let objects = self.descriptors.objects.iter();
        objects.filter(|(_, o)| listens(&o.kind)).map(|(id, _)| *id).min()
    }

    fn free_port(&mut self, machine: usize) -> u16 {
        loop {
            let port = EPHEMERAL + self.random.below(28_000) as u16;
            let used = |kind: &Kind| matches!(kind, Kind::Socket(s) if s.local == (machine, port));
            if !self.descriptors.objects.values().any(|o| used(&o.kind)) {
                return port;
            }
        }
    }

    /// Puts bytes on the way to the peer; on a link that spoils them another number of them, or
    /// others.
    fn put_data(&mut self, id: usize, mut data: Vec<u8>) {
        let Some(socket) = self.socket(id) else { return };
        let (from, to) = (socket.local.0, socket.remote.0);
        let often = self.links.mangles(from, to);
        if data.is_empty() || !self.random.one_in(often) {
            return self.put(id, Packet::Data(data));
        }
        self.links.spoiled += 1;
        let at = self.random.below(data.len() as u64) as usize;
        match self.random.below(4) {
            0 => data[at] ^= 1 << self.random.below(8),
            1 => {
                let lost = data.len() - at;
                data.truncate(at);
                if let Some(socket) = self.socket(id) {
                    socket.unread = socket.unread.saturating_sub(lost);
                }
            }
            2 => self.put(id, Packet::Data(data.clone())),
            _ => {
                let (again, later) = (data.clone(), self.now + self.random.below(10 * SECOND));
                self.at(later, move |world| {
                    if world.socket(id).is_some_and(|s| !s.closed && !s.shut) {
                        world.put(id, Packet::Data(again));
                    }
                });
            }
        }
        self.put(id, Packet::Data(data));
    }

    /// Puts something on the way to the peer.
    fn put(&mut self, id: usize, packet: Packet) {
        let Some(socket) = self.socket(id) else { return };
        let (from, to) = (socket.local.0, socket.remote.0);
        let delay = self.delay(from, to);
        let now = self.now;
        let Some(socket) = self.socket(id) else { return };
        let before = socket.out.back().map_or(0, |(due, _)| *due);
        let due = before.max(now + delay);
        socket.out.push_back((due, packet));
        self.at(due, move |world| world.deliver(id));
    }

    /// Hands over what is due, as far as the link lets it.
    fn deliver(&mut self, id: usize) {
        loop {
            let now = self.now;
            let Some(socket) = self.socket(id) else { return };
            let (from, to) = (socket.local.0, socket.remote.0);
            if socket.out.front().is_none_or(|(due, _)| *due > now) {
                break;
            }
            let there = self.machines[to].up && self.is_awake(to);
            if !self.links.open(from, to) || !there || !self.machines[from].up {
                let again = now + RETRANSMIT_DELAY + self.random.below(RETRANSMIT_DELAY / 4);
                let Some(socket) = self.socket(id) else { return };
                // Everything behind it waits as well, and is due with it.
                if let Some((due, _)) = socket.out.front_mut() {
                    *due = again;
                }
                self.at(again, move |world| world.deliver(id));
                return;
            }
            let Some(socket) = self.socket(id) else { return };
            let peer = socket.peer;
            let Some((_, mut packet)) = socket.out.pop_front() else { break };
            if let Packet::Data(data) = &mut packet
                && data.len() > 1
                && hooks::strikes_on_the_way(Hook::Segment)
            {
                let most = self.random.below(16).min(data.len() as u64 - 2);
                let rest = data.split_off(1 + most as usize);
                let next = now + 1 + self.random.below(SECOND / 500);
                if let Some(socket) = self.socket(id) {
                    socket.out.push_front((next, Packet::Data(rest)));
                }
                self.at(next, move |world| world.deliver(id));
            }
            let Some(other) = peer.and_then(|peer| self.socket(peer)).filter(|s| !s.closed) else {
                self.break_off(id, libc::ECONNRESET);
                break;
            };
            match packet {
                Packet::Data(data) => other.arrived.extend(data),
                Packet::End => other.ended = true,
                Packet::Reset => {
                    other.error = libc::ECONNRESET;
                    other.ended = true;
                }
            }
            if let Some(peer) = peer {
                self.notify(peer);
            }
        }
        let done = self.socket(id).is_some_and(|s| s.closed && s.out.is_empty());
        if done {
            self.descriptors.objects.remove(&id);
        }
    }

    fn break_off(&mut self, id: usize, error: c_int) {
        let Some(socket) = self.socket(id) else { return };
        socket.error = error;
        socket.ended = true;
        socket.out.clear();
        self.notify(id);
    }

    /// Asks for a connection, again while nobody hears it.
    fn ask(&mut self, id: usize, tries: u32) {
        let Some(socket) = self.socket(id).filter(|s| !s.closed) else { return };
        let (local, remote) = (socket.local, socket.remote);
        let there = self.machines.get(remote.0).is_some_and(|m| m.up) && self.is_awake(remote.0);
        let heard = self.links.open(local.0, remote.0) && there && self.is_awake(local.0);
        if !heard {
            match tries < TRIES {
                true => self.at(self.now + RETRY_DELAY, move |world| world.ask(id, tries + 1)),
                false => self.break_off(id, libc::ETIMEDOUT),
            }
            return;
        }
        let back = self.now + self.delay(remote.0, local.0);
        let Some(listener) = self.listener(remote) else {
            self.at(back, move |world| world.break_off(id, libc::ECONNREFUSED));
            return;
        };
        let process = self.descriptors.objects.get(&listener).map_or(0, |o| o.process);
        let accepted = Socket {
            state: State::Connected,
            local: remote,
            remote: local,
            peer: Some(id),
            ..Socket::new(remote.0)
        };
        let accepted = self.add_object(process, Kind::Socket(Box::new(accepted)));
        let Some(socket) = self.socket(listener) else { return };
        if socket.backlog.len() >= BACKLOG {
            self.descriptors.objects.remove(&accepted);
            self.at(self.now + RETRY_DELAY, move |world| world.ask(id, tries + 1));
            return;
        }
        socket.backlog.push_back(accepted);
        self.notify(listener);
        self.at(back, move |world| world.connected(id, accepted));
    }

    fn connected(&mut self, id: usize, accepted: usize) {
        let Some(socket) = self.socket(id).filter(|s| !s.closed) else { return };
        let (local, remote) = (socket.local, socket.remote);
        if !self.links.open(remote.0, local.0) || !self.is_awake(local.0) {
            let again = self.now + RETRY_DELAY;
            self.at(again, move |world| world.connected(id, accepted));
            return;
        }
        if let Some(socket) = self.socket(id) {
            socket.state = State::Connected;
            socket.peer = Some(accepted);
        }
        self.notify(id);
    }
}

/// The last descriptor of an object is gone.
pub(super) fn close(world: &mut World, id: usize) {
    let Some(socket) = world.socket(id) else {
        world.descriptors.objects.remove(&id);
        return;
    };
    socket.closed = true;
    let unread = !socket.arrived.is_empty();
    let (state, shut) = (socket.state, socket.shut);
    for waiting in std::mem::take(&mut socket.backlog) {
        close(world, waiting);
    }
    match state {
        State::Connected if unread => world.put(id, Packet::Reset),
        State::Connected if !shut => world.put(id, Packet::End),
        State::Connected => {
            world.deliver(id);
        }
        _ => {
            world.descriptors.objects.remove(&id);
        }
    }
}

/// A process is gone.
pub(super) fn abandon(process: usize, end: End) {
    let world = world();
    let mut ids: Vec<usize> = world
        .descriptors
        .objects
        .iter()
        .filter(|(_, o)| o.process == process)
        .map(|(id, _)| *id)
        .collect();
    ids.sort_unstable();
    world.descriptors.by_fd.retain(|_, id| ids.binary_search(id).is_err());
    for id in ids {
        match end {
            End::Killed => close(world, id),
            End::PowerLost => {
                world.descriptors.objects.remove(&id);
            }
        }
    }
}

/// Takes what has arrived.
pub(super) fn receive(id: usize, into: *mut u8, len: usize, peek: bool) -> ssize_t {
    let world = world();
    let Some(socket) = world.socket(id) else { return real::fail(libc::EBADF) as ssize_t };
    if socket.arrived.is_empty() {
        if socket.error != 0 {
            return real::fail(socket.error) as ssize_t;
        }
        if socket.ended || len == 0 {
            return 0;
        }
        return real::fail(libc::EAGAIN) as ssize_t;
    }
    let count = len.min(socket.arrived.len());
    let (first, second) = socket.arrived.as_slices();
    let split = count.min(first.len());
    // SAFETY: the caller gave room for `len`, and `count` is not more.
    unsafe {
        std::ptr::copy_nonoverlapping(first.as_ptr(), into, split);
        std::ptr::copy_nonoverlapping(second.as_ptr(), into.add(split), count - split);
    }
    if !peek {
        socket.arrived.drain(..count);
        let peer = socket.peer;
        if let Some(peer) = peer
            && let Some(sender) = world.socket(peer)
        {
            sender.unread = sender.unread.saturating_sub(count);
            if std::mem::take(&mut sender.wants_room) {
                world.notify(peer);
            }
        }
    }
    count as ssize_t
}

/// Sends as much as there is room for.
pub(super) fn transmit(id: usize, parts: &[(*const u8, usize)]) -> ssize_t {
    let world = world();
    let Some(socket) = world.socket(id) else { return real::fail(libc::EBADF) as ssize_t };
    if socket.error != 0 || socket.shut {
        return real::fail(libc::EPIPE) as ssize_t;
    }
    if socket.state != State::Connected {
        return real::fail(libc::EAGAIN) as ssize_t;
    }
    let room = WINDOW.saturating_sub(socket.unread);
    if room == 0 {
        socket.wants_room = true;
        return real::fail(libc::EAGAIN) as ssize_t;
    }
    let room = match hooks::strikes(Hook::ShortSend) {
        true => room.min(1 + world.random.below(64) as usize),
        false => room,
    };
    let Some(socket) = world.socket(id) else { return real::fail(libc::EBADF) as ssize_t };
    let mut data = Vec::new();
    for (part, len) in parts {
        let count = (*len).min(room - data.len());
        // SAFETY: the caller gave that many bytes.
        data.extend_from_slice(unsafe { std::slice::from_raw_parts(*part, count) });
    }
    let count = data.len();
    if count < parts.iter().map(|(_, len)| len).sum() {
        socket.wants_room = true;
    }
    socket.unread += count;
    world.put_data(id, data);
    maybe_yield();
    count as ssize_t
}

fn with<R>(fd: c_int, f: impl FnOnce(&mut World, usize) -> R) -> Option<R> {
    if !inside() {
        return None;
    }
    let world = world();
    let (id, _) = world.object(fd)?;
    Some(f(world, id))
}

unsafe fn read_address(address: *const sockaddr) -> Address {
    // SAFETY: only sockets of IPv4 are made, so this is one of its addresses.
    let address = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
    let [a, _, _, machine] = address.sin_addr.s_addr.to_ne_bytes();
    let machine = if a == 10 { usize::from(machine) } else { super::machine().number };
    (machine, u16::from_be(address.sin_port))
}

unsafe fn write_address(of: Address, address: *mut sockaddr, len: *mut socklen_t) {
    if address.is_null() {
        return;
    }
    let s_addr = u32::from_ne_bytes([10, 0, 0, of.0 as u8]);
    let filled = sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: of.1.to_be(),
        sin_addr: libc::in_addr { s_addr },
        sin_zero: [0; 8],
    };
    // SAFETY: the caller gave room for an address, and that for its length.
    unsafe {
        address.cast::<sockaddr_in>().write_unaligned(filled);
        *len = size_of::<sockaddr_in>() as socklen_t;
    }
}

/// See `socket(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if !inside() || domain == libc::AF_UNIX {
        // SAFETY: passed on as it came.
        return unsafe { real::socket(domain, kind, protocol) };
    }
    if domain != libc::AF_INET || kind & 0xf != libc::SOCK_STREAM {
        return real::fail(libc::EAFNOSUPPORT);
    }
    make(Kind::Socket(Box::new(Socket::new(super::machine().number))))
}

/// See `bind(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    let bound = with(fd, |world, id| {
        // SAFETY: the caller gave an address.
        let (machine, port) = unsafe { read_address(address) };
        if port != 0 && world.listener((machine, port)).is_some() {
            return real::fail(libc::EADDRINUSE);
        }
        let port = if port == 0 { world.free_port(machine) } else { port };
        if let Some(socket) = world.socket(id) {
            socket.local = (machine, port);
        }
        0
    });
    // SAFETY: passed on as it came.
    bound.unwrap_or_else(|| unsafe { real::bind(fd, address, len) })
}

/// See `listen(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    let listening = with(fd, |world, id| {
        if let Some(socket) = world.socket(id) {
            socket.state = State::Listening;
        }
        0
    });
    // SAFETY: passed on as it came.
    listening.unwrap_or_else(|| unsafe { real::listen(fd, backlog) })
}

/// See `accept4(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    let accepted = with(fd, |world, id| {
        let next = world.socket(id).and_then(|s| s.backlog.pop_front());
        let Some(next) = next else { return real::fail(libc::EAGAIN) };
        let Some(remote) = world.socket(next).map(|s| s.remote) else {
            return real::fail(libc::ECONNABORTED);
        };
        // SAFETY: the caller's room.
        unsafe { write_address(remote, address, len) };
        world.open(next)
    });
    // SAFETY: passed on as it came.
    accepted.unwrap_or_else(|| unsafe { real::accept4(fd, address, len, flags) })
}

/// See `connect(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    let asked = with(fd, |world, id| {
        // SAFETY: the caller gave an address.
        let remote = unsafe { read_address(address) };
        let machine = super::machine().number;
        let local = (machine, world.free_port(machine));
        let at = world.now + world.delay(machine, remote.0);
        if let Some(socket) = world.socket(id) {
            (socket.local, socket.remote, socket.state) = (local, remote, State::Connecting);
        }
        world.at(at, move |world| world.ask(id, 0));
        real::fail(libc::EINPROGRESS)
    });
    // SAFETY: passed on as it came.
    asked.unwrap_or_else(|| unsafe { real::connect(fd, address, len) })
}

macro_rules! name {
    ($name:ident, $field:ident) => {
        /// See `getsockname(2)`.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            fd: c_int,
            address: *mut sockaddr,
            len: *mut socklen_t,
        ) -> c_int {
            let named = with(fd, |world, id| {
                let Some(of) = world.socket(id).map(|s| s.$field) else {
                    return real::fail(libc::ENOTCONN);
                };
                // SAFETY: the caller's room.
                unsafe { write_address(of, address, len) };
                0
            });
            // SAFETY: passed on as it came.
            named.unwrap_or_else(|| unsafe { real::$name(fd, address, len) })
        }
    };
}

name!(getsockname, local);
name!(getpeername, remote);

/// See `getsockopt(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    let got = with(fd, |world, id| {
        let Some(socket) = world.socket(id) else { return real::fail(libc::ENOTSOCK) };
        let error = level == libc::SOL_SOCKET && name == libc::SO_ERROR;
        let is = match error && socket.state == State::Connecting {
            true => socket.error,
            false => 0,
        };
        // SAFETY: options that are asked for are numbers; the caller gave room for one.
        unsafe { value.cast::<c_int>().write_unaligned(is) };
        0
    });
    // SAFETY: passed on as it came.
    got.unwrap_or_else(|| unsafe { real::getsockopt(fd, level, name, value, len) })
}

/// See `setsockopt(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    // SAFETY: passed on as it came.
    with(fd, |_, _| 0).unwrap_or_else(|| unsafe { real::setsockopt(fd, level, name, value, len) })
}

/// See `send(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn send(fd: c_int, data: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    // SAFETY: passed on as it came.
    with(fd, |_, id| id).map_or_else(
        || unsafe { real::send(fd, data, len, flags) },
        |id| transmit(id, &[(data.cast(), len)]),
    )
}

/// See `recv(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, data: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    let peek = flags & libc::MSG_PEEK != 0;
    // SAFETY: passed on as it came.
    with(fd, |_, id| id).map_or_else(
        || unsafe { real::recv(fd, data, len, flags) },
        |id| receive(id, data.cast(), len, peek),
    )
}

/// See `shutdown(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    let shut = with(fd, |world, id| {
        let Some(socket) = world.socket(id) else { return real::fail(libc::ENOTSOCK) };
        if socket.state != State::Connected {
            return real::fail(libc::ENOTCONN);
        }
        if how != libc::SHUT_RD && !std::mem::replace(&mut socket.shut, true) {
            world.put(id, Packet::End);
        }
        0
    });
    // SAFETY: passed on as it came.
    shut.unwrap_or_else(|| unsafe { real::shutdown(fd, how) })
}
