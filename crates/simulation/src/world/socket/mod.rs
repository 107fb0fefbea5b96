//! TCP between machines: streams of bytes that arrive in order, later, or not while a link is cut.
//!
//! As with real ones: bytes sent on a cut link are retransmitted until the link is mended; a
//! process that sends to a dead process is refused, to a machine without power gets no answer.
//!
//! [`connect`]: ports and connections; [`stream`]: bytes in flight; [`calls`]: the functions of the
//! C library that replace the system's.

mod calls;
mod connect;
mod stream;

use std::collections::VecDeque;

use libc::{c_int, ssize_t};

use super::epoll::Kind;
use super::hooks::{self, Hook};
use super::node::End;
use super::{World, maybe_yield, real, world};

/// Bytes that one side may have sent and the other not read.
const WINDOW_BYTES: usize = 256 << 10;

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
    /// The other end, once it exists.
    peer: Option<usize>,
    arrived: VecDeque<u8>,
    /// No more will arrive.
    ended: bool,
    error: c_int,
    /// On the way to the peer, each with the time it is due.
    out: VecDeque<(u64, Packet)>,
    /// Sent and not read by the peer.
    unread: usize,
    /// A write was refused for lack of room.
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

    /// The readiness that epoll would report.
    pub(super) fn possible(&self) -> c_int {
        let bit = |on: bool, bit: c_int| if on { bit } else { 0 };
        let broken = self.error != 0;
        match self.state {
            State::New => libc::EPOLLHUP,
            State::Listening => bit(!self.backlog.is_empty(), libc::EPOLLIN),
            State::Connecting => bit(broken, libc::EPOLLERR | libc::EPOLLOUT | libc::EPOLLHUP),
            State::Connected => {
                bit(!self.arrived.is_empty() || self.ended || broken, libc::EPOLLIN)
                    | bit(self.unread < WINDOW_BYTES || broken, libc::EPOLLOUT)
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
}

/// The last descriptor of an object was closed.
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

/// A process has ended.
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
                acknowledge_arrived(world, id);
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
        make_room(world, peer, count);
    }
    count as ssize_t
}

/// The system of a machine has acknowledged the arrived bytes, even if no process has read them: a
/// sender that waits for room continues, and is refused once the machine is up again.
fn acknowledge_arrived(world: &mut World, id: usize) {
    let Some(socket) = world.socket(id) else { return };
    let (peer, count) = (socket.peer, socket.arrived.len());
    make_room(world, peer, count);
}

/// Frees `count` bytes of a sender's buffer.
fn make_room(world: &mut World, sender: Option<usize>, count: usize) {
    if let Some(id) = sender
        && let Some(sender) = world.socket(id)
    {
        sender.unread = sender.unread.saturating_sub(count);
        if std::mem::take(&mut sender.wants_room) {
            world.notify(id);
        }
    }
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
    let room = WINDOW_BYTES.saturating_sub(socket.unread);
    if room == 0 {
        socket.wants_room = true;
        return real::fail(libc::EAGAIN) as ssize_t;
    }
    let room = match hooks::fires(Hook::ShortSend) {
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
