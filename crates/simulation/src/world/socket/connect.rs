//! Ports, and connections that are requested, accepted and refused.

use super::{Address, Socket, State, World};
use crate::world::epoll::Kind;

/// Attempts to connect before the system gives up.
const MAX_SYN_RETRIES: u32 = 60;
const RETRY_DELAY: u64 = 1_000_000_000;
/// Connections that wait to be accepted.
const BACKLOG: usize = 1024;
/// First port of those that the system picks.
const FIRST_EPHEMERAL_PORT: u16 = 32_768;

impl World {
    pub(super) fn listener(&self, at: Address) -> Option<usize> {
        // In the order of their making, so that a seed finds the same.
        let listens = |kind: &Kind| matches!(kind, Kind::Socket(s) if s.state == State::Listening && s.local == at && !s.closed);
        let objects = self.descriptors.objects.iter();
        objects.filter(|(_, o)| listens(&o.kind)).map(|(id, _)| *id).min()
    }

    pub(super) fn free_port(&mut self, machine: usize) -> u16 {
        loop {
            let port = FIRST_EPHEMERAL_PORT + self.random.below(28_000) as u16;
            let used = |kind: &Kind| matches!(kind, Kind::Socket(s) if s.local == (machine, port));
            if !self.descriptors.objects.values().any(|o| used(&o.kind)) {
                return port;
            }
        }
    }

    /// Requests a connection, again while the other machine is not reached.
    pub(super) fn send_syn(&mut self, id: usize, tries: u32) {
        let Some(socket) = self.socket(id).filter(|s| !s.closed) else { return };
        let (local, remote) = (socket.local, socket.remote);
        let there = self.machines.get(remote.0).is_some_and(|m| m.up) && self.is_awake(remote.0);
        let heard = self.links.open(local.0, remote.0) && there && self.is_awake(local.0);
        if !heard {
            match tries < MAX_SYN_RETRIES {
                true => self.at(self.now + RETRY_DELAY, move |world| world.send_syn(id, tries + 1)),
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
            self.at(self.now + RETRY_DELAY, move |world| world.send_syn(id, tries + 1));
            return;
        }
        socket.backlog.push_back(accepted);
        self.notify(listener);
        self.at(back, move |world| world.connected(id, accepted));
    }

    pub(super) fn connected(&mut self, id: usize, accepted: usize) {
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
