//! Bytes in flight between two machines.

use libc::c_int;

use super::{Packet, World};
use crate::world::clock::SECOND;
use crate::world::hooks::{self, Hook};
use crate::world::link::RETRANSMIT_DELAY;

impl World {
    /// Puts bytes on the way to the peer; on a link that spoils them another number of them, or
    /// others.
    pub(super) fn put_data(&mut self, id: usize, mut data: Vec<u8>) {
        let Some(socket) = self.socket(id) else { return };
        let (from, to) = (socket.local.0, socket.remote.0);
        let often = self.links.mangles(from, to);
        if data.is_empty() || !self.random.one_in(often) {
            return self.put(id, Packet::Data(data));
        }
        self.links.damaged += 1;
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
    pub(super) fn put(&mut self, id: usize, packet: Packet) {
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

    /// Delivers due bytes, if the link is open.
    pub(super) fn deliver(&mut self, id: usize) {
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
                // Everything after it waits as well, and is due with it.
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
                && hooks::fires_in_transit(Hook::Segment)
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

    pub(super) fn break_off(&mut self, id: usize, error: c_int) {
        let Some(socket) = self.socket(id) else { return };
        socket.error = error;
        socket.ended = true;
        socket.out.clear();
        self.notify(id);
    }
}
