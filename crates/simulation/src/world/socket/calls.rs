//! The functions of the C library that make and use sockets: those of a simulated process are the
//! world's, others go to the system.

use libc::{c_int, c_void, size_t, sockaddr, sockaddr_in, socklen_t, ssize_t};

use super::{Address, Packet, Socket, State, World, receive, transmit};
use crate::world::epoll::{Kind, make};
use crate::world::{inside, machine, real, world};

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
    let [a, _, _, last] = address.sin_addr.s_addr.to_ne_bytes();
    let machine = if a == 10 { usize::from(last) } else { machine().number };
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
        // SAFETY: passed through unchanged.
        return unsafe { real::socket(domain, kind, protocol) };
    }
    if domain != libc::AF_INET || kind & 0xf != libc::SOCK_STREAM {
        return real::fail(libc::EAFNOSUPPORT);
    }
    make(Kind::Socket(Box::new(Socket::new(machine().number))))
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
    // SAFETY: passed through unchanged.
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
    // SAFETY: passed through unchanged.
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
    // SAFETY: passed through unchanged.
    accepted.unwrap_or_else(|| unsafe { real::accept4(fd, address, len, flags) })
}

/// See `connect(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    let asked = with(fd, |world, id| {
        // SAFETY: the caller gave an address.
        let remote = unsafe { read_address(address) };
        let here = machine().number;
        let local = (here, world.free_port(here));
        let at = world.now + world.delay(here, remote.0);
        if let Some(socket) = world.socket(id) {
            (socket.local, socket.remote, socket.state) = (local, remote, State::Connecting);
        }
        world.at(at, move |world| world.send_syn(id, 0));
        real::fail(libc::EINPROGRESS)
    });
    // SAFETY: passed through unchanged.
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
            // SAFETY: passed through unchanged.
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
    // SAFETY: passed through unchanged.
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
    // SAFETY: passed through unchanged.
    with(fd, |_, _| 0).unwrap_or_else(|| unsafe { real::setsockopt(fd, level, name, value, len) })
}

/// See `send(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn send(fd: c_int, data: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    // SAFETY: passed through unchanged.
    with(fd, |_, id| id).map_or_else(
        || unsafe { real::send(fd, data, len, flags) },
        |id| transmit(id, &[(data.cast(), len)]),
    )
}

/// See `recv(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, data: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    let peek = flags & libc::MSG_PEEK != 0;
    // SAFETY: passed through unchanged.
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
    // SAFETY: passed through unchanged.
    shut.unwrap_or_else(|| unsafe { real::shutdown(fd, how) })
}
