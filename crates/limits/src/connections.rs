//! Limits on open connections.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

use crate::{ConnectionOptions, PeerKey};

/// The connections of a port.
///
/// A connection is silent until it has sent something valid in the port's protocol. If a limit is
/// reached, a new connection evicts the oldest silent one that counts towards that limit; if there
/// is none, the new one is refused. So silent connections cannot shut out others, however many they
/// are.
#[derive(Debug)]
pub struct Connections {
    max: usize,
    max_per_peer: usize,
    state: Mutex<State>,
    stats: ConnectionStats,
}

/// Statistics of connections, for metrics.
#[derive(Debug, Default)]
pub struct ConnectionStats {
    /// Connections that are open.
    pub open: AtomicU64,
    /// Connections refused because too many were open.
    pub refused: AtomicU64,
    /// Silent connections evicted by new ones.
    pub evicted: AtomicU64,
    /// Connections closed because the peer was silent, or stalled, for too long.
    pub timed_out: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// Number of connections by peer.
    peers: FxHashMap<PeerKey, usize>,
    open: FxHashMap<u64, PeerKey>,
    /// Silent connections in order of arrival.
    silent: BTreeMap<u64, (PeerKey, oneshot::Sender<()>)>,
}

/// An open connection; it is counted until this is dropped.
#[derive(Debug)]
pub struct Open {
    connections: Arc<Connections>,
    number: u64,
    evicted: Option<oneshot::Receiver<()>>,
}

impl Connections {
    /// Creates an empty set with these limits.
    pub fn new(options: &ConnectionOptions) -> Arc<Self> {
        Arc::new(Self {
            max: options.max.max(1),
            max_per_peer: options.max_per_peer.max(1),
            state: Mutex::default(),
            stats: ConnectionStats::default(),
        })
    }

    /// Its statistics.
    pub fn stats(&self) -> &ConnectionStats {
        &self.stats
    }

    /// Counts a new connection; `None` if it exceeds a limit and must be closed.
    pub fn open(self: &Arc<Self>, peer: IpAddr) -> Option<Open> {
        let peer = PeerKey::of(peer);
        let mut state = self.state.lock();
        let of_peer = state.peers.get(&peer).copied().unwrap_or(0);
        let has_place = if of_peer >= self.max_per_peer {
            state.evict_of(peer)
        } else if state.open.len() >= self.max {
            state.evict_oldest()
        } else {
            return Some(self.count(&mut state, peer));
        };
        if !has_place {
            self.stats.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.stats.evicted.fetch_add(1, Ordering::Relaxed);
        Some(self.count(&mut state, peer))
    }

    fn count(self: &Arc<Self>, state: &mut State, peer: PeerKey) -> Open {
        let (evict, evicted) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        state.open.insert(number, peer);
        *state.peers.entry(peer).or_default() += 1;
        state.silent.insert(number, (peer, evict));
        self.stats.open.store(state.open.len() as u64, Ordering::Relaxed);
        Open { connections: Arc::clone(self), number, evicted: Some(evicted) }
    }
}

impl State {
    fn evict_of(&mut self, peer: PeerKey) -> bool {
        let oldest = self.silent.iter().find(|(_, (of, _))| *of == peer).map(|(n, _)| *n);
        oldest.is_some_and(|number| self.evict(number))
    }

    fn evict_oldest(&mut self) -> bool {
        let oldest = self.silent.first_key_value().map(|(number, _)| *number);
        oldest.is_some_and(|number| self.evict(number))
    }

    fn evict(&mut self, number: u64) -> bool {
        if let Some((_, evict)) = self.silent.remove(&number) {
            // The receiver is dropped only when the connection is about to end anyway.
            let _ = evict.send(());
        }
        self.remove(number)
    }

    fn remove(&mut self, number: u64) -> bool {
        let Some(peer) = self.open.remove(&number) else { return false };
        if let Some(count) = self.peers.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.peers.remove(&peer);
            }
        }
        true
    }
}

impl Open {
    /// Records that the connection uses the port's protocol: it cannot be evicted any more.
    pub fn speaks(&mut self) {
        self.evicted = None;
        self.connections.state.lock().silent.remove(&self.number);
    }

    /// Waits until the connection is evicted, which never happens once it uses the protocol.
    pub async fn evicted(&mut self) {
        let evicted = match &mut self.evicted {
            Some(evicted) => evicted.await.is_ok(),
            None => false,
        };
        if !evicted {
            std::future::pending::<()>().await;
        }
    }

    /// The future of [`Open::evicted`], to be awaited elsewhere.
    pub(crate) fn detach_eviction(&mut self) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let evicted = self.evicted.take()?;
        Some(Box::pin(async move {
            if evicted.await.is_err() {
                std::future::pending::<()>().await;
            }
        }))
    }

    /// Records that the connection was closed because the peer was silent or stalled for too long.
    pub fn timed_out(&self) {
        self.connections.stats.timed_out.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.connections.state.lock();
        state.silent.remove(&self.number);
        state.remove(self.number);
        self.connections.stats.open.store(state.open.len() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn connections(max: usize, max_per_peer: usize) -> Arc<Connections> {
        Connections::new(&ConnectionOptions { max, max_per_peer, ..ConnectionOptions::default() })
    }

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn count(number: &AtomicU64) -> u64 {
        number.load(Ordering::Relaxed)
    }

    #[test]
    fn silent_connections_give_way_oldest_first() {
        let connections = connections(100, 3);
        let mut first = connections.open(ip(1)).unwrap();
        let mut second = connections.open(ip(1)).unwrap();
        let mut other = connections.open(ip(2)).unwrap();
        let _third = connections.open(ip(1)).unwrap();
        assert!(first.evicted().now_or_never().is_none());
        let _fourth = connections.open(ip(1)).unwrap();
        assert!(first.evicted().now_or_never().is_some());
        assert!(second.evicted().now_or_never().is_none());
        assert!(other.evicted().now_or_never().is_none(), "it belongs to another peer");
        assert_eq!(count(&connections.stats().evicted), 1);
        drop(first);
        assert_eq!(count(&connections.stats().open), 4, "it was already removed from the count");
    }

    #[test]
    fn connections_that_speak_stay_and_those_above_the_limit_are_refused() {
        let connections = connections(2, 2);
        let mut both: Vec<Open> = (1..3).map(|n| connections.open(ip(n)).unwrap()).collect();
        both.iter_mut().for_each(Open::speaks);
        assert!(connections.open(ip(3)).is_none());
        assert_eq!(count(&connections.stats().refused), 1);
        assert!(both[0].evicted().now_or_never().is_none());
        both.pop();
        assert!(connections.open(ip(3)).is_some());
    }

    #[test]
    fn a_peer_with_many_takes_no_place_from_another() {
        let connections = connections(10, 4);
        let mut talking: Vec<Open> = (0..4).filter_map(|_| connections.open(ip(1))).collect();
        talking.iter_mut().for_each(Open::speaks);
        assert!(connections.open(ip(1)).is_none());
        let others: Vec<Open> = (2..8).filter_map(|n| connections.open(ip(n))).collect();
        assert_eq!(others.len(), 6);
        drop((talking, others));
        assert!(
            connections.state.lock().peers.is_empty() && connections.state.lock().open.is_empty()
        );
    }
}
