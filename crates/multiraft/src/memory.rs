//! An in-memory network for tests: hosts in one process, with links that can be cut, delayed or
//! made lossy.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::consensus::MessageType;
use crate::error::TransportError;
use crate::host::RaftHost;
use crate::transport::{Frame, Target, Transport};

/// Frames queued on one link before it drops further ones.
const LINK_FRAMES: usize = 4096;

#[derive(Default)]
struct State {
    hosts: FxHashMap<Uuid, RaftHost>,
    cut: FxHashSet<(Uuid, Uuid)>,
    links: FxHashMap<(Uuid, Uuid), mpsc::Sender<Frame>>,
    delay: Duration,
    /// Frames lost out of 1000.
    loss: u32,
    /// Links that lose frames above a size in bytes.
    longest: FxHashMap<(Uuid, Uuid), usize>,
    /// Hosts whose vote requests are lost.
    unheard: FxHashSet<Uuid>,
    seed: u64,
    frames: u64,
}

impl State {
    /// Deterministic for a given order of frames.
    fn loses(&mut self) -> bool {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.seed >> 33) % 1000) < u64::from(self.loss)
    }
}

/// The network. Cheap to clone.
#[derive(Clone, Default)]
pub struct MemoryNetwork {
    state: Arc<Mutex<State>>,
}

impl MemoryNetwork {
    /// A network without hosts, whose links work.
    pub fn new() -> Self {
        Self::default()
    }

    /// The transport of the host `node`.
    pub fn transport(&self, node: Uuid) -> Arc<dyn Transport> {
        Arc::new(MemoryTransport { node, network: Arc::downgrade(&self.state) })
    }

    /// Attaches a host to the network, replacing an earlier one of the same node.
    pub fn attach(&self, host: &RaftHost) {
        let mut state = self.state.lock();
        state.hosts.insert(host.node(), host.clone());
    }

    /// Detaches a host from the network.
    pub fn detach(&self, node: Uuid) {
        let mut state = self.state.lock();
        state.hosts.remove(&node);
        state.links.retain(|(_, to), _| *to != node);
    }

    /// Cuts both directions between every node of `one` and every node of `other`.
    pub fn cut(&self, one: &[Uuid], other: &[Uuid]) {
        let mut state = self.state.lock();
        for a in one {
            for b in other {
                state.cut.extend([(*a, *b), (*b, *a)]);
            }
        }
    }

    /// Loses the frames of `from` to `to`; the other direction works.
    pub fn cut_one_way(&self, from: Uuid, to: Uuid) {
        self.state.lock().cut.insert((from, to));
    }

    /// Repairs every cut, and stops loss and delay.
    pub fn heal(&self) {
        let mut state = self.state.lock();
        state.cut.clear();
        state.loss = 0;
        state.longest.clear();
        state.unheard.clear();
        state.delay = Duration::ZERO;
    }

    /// Loses that many of 1000 frames.
    pub fn lose(&self, per_mille: u32) {
        self.state.lock().loss = per_mille;
    }

    /// Loses the frames of `from` to `to` of more than `longest` bytes, as a path with a wrong MTU
    /// does: heartbeats arrive, long entries do not.
    pub fn lose_long(&self, from: Uuid, to: Uuid, longest: usize) {
        self.state.lock().longest.insert((from, to), longest);
    }

    /// Loses the frames in which `from` requests votes.
    pub fn lose_requests_for_votes(&self, from: Uuid) {
        self.state.lock().unheard.insert(from);
    }

    /// Delays every frame.
    pub fn delay(&self, by: Duration) {
        self.state.lock().delay = by;
    }

    /// Frames sent so far, delivered or not.
    pub fn frames(&self) -> u64 {
        self.state.lock().frames
    }
}

struct MemoryTransport {
    node: Uuid,
    network: Weak<Mutex<State>>,
}

fn joined(mut parts: Vec<Bytes>) -> Bytes {
    match parts.len() {
        0 => Bytes::new(),
        1 => parts.swap_remove(0),
        _ => parts.concat().into(),
    }
}

fn asks_for_votes(frame: &Frame) -> bool {
    let payload = joined(frame.payload.clone());
    let messages = crate::transport::frame::decode(frame.header.clone(), &payload);
    messages.is_ok_and(|(_, messages)| {
        let mut kinds = messages.iter().map(|(_, message)| message.get_msg_type());
        kinds.any(|kind| {
            matches!(kind, MessageType::MsgRequestVote | MessageType::MsgRequestPreVote)
        })
    })
}

/// Delivers the frames of one link in order.
async fn deliver(network: Weak<Mutex<State>>, to: Uuid, mut frames: mpsc::Receiver<Frame>) {
    while let Some(frame) = frames.recv().await {
        let Some(state) = network.upgrade() else { return };
        let delay = state.lock().delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let host = state.lock().hosts.get(&to).cloned();
        let received = host.map(|host| host.receive(frame.header, joined(frame.payload)));
        if let Some(Err(error)) = received {
            tracing::error!(%to, %error, "frame refused");
        }
    }
}

impl MemoryTransport {
    fn peer(&self, to: &Target) -> Result<RaftHost, TransportError> {
        let refused = |detail: &str| TransportError::Unreachable {
            address: to.address.clone(),
            detail: detail.to_owned(),
        };
        let network = self.network.upgrade().ok_or_else(|| refused("no network"))?;
        let state = network.lock();
        if state.cut.contains(&(self.node, to.node)) {
            return Err(refused("link is cut"));
        }
        state.hosts.get(&to.node).cloned().ok_or_else(|| refused("host is down"))
    }
}

impl Transport for MemoryTransport {
    fn send(&self, to: &Target, frame: Frame) {
        let Some(network) = self.network.upgrade() else { return };
        let mut state = network.lock();
        state.frames += 1;
        let down = !state.hosts.contains_key(&to.node);
        let bytes = frame.header.len() + frame.payload.iter().map(Bytes::len).sum::<usize>();
        let long = state.longest.get(&(self.node, to.node)).is_some_and(|most| bytes > *most);
        let unheard = state.unheard.contains(&self.node) && asks_for_votes(&frame);
        if down || long || unheard || state.cut.contains(&(self.node, to.node)) || state.loses() {
            return;
        }
        let Some(runtime) = state.hosts.get(&to.node).map(RaftHost::runtime) else { return };
        let key = (self.node, to.node);
        if state.links.get(&key).is_none_or(mpsc::Sender::is_closed) {
            let (sender, receiver) = mpsc::channel(LINK_FRAMES);
            runtime.spawn(deliver(self.network.clone(), to.node, receiver));
            state.links.insert(key, sender);
        }
        if let Some(link) = state.links.get(&key) {
            // A full link loses the frame, as a real one would.
            let _ = link.try_send(frame);
        }
    }

    fn send_snapshot(
        &self,
        to: &Target,
        frame: Frame,
    ) -> BoxFuture<'static, Result<u64, TransportError>> {
        let (peer, address) = (self.peer(to), to.address.clone());
        Box::pin(async move {
            let taken = peer?.receive_snapshot(frame.header, joined(frame.payload)).await;
            taken.map_err(|e| TransportError::Refused { address, detail: e.to_string() })
        })
    }

    fn fetch_payload(
        &self,
        to: &Target,
        request: Bytes,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        let (peer, address) = (self.peer(to), to.address.clone());
        Box::pin(async move {
            let fetched = peer?.receive_fetch(request).await;
            fetched.map_err(|e| TransportError::Refused { address, detail: e.to_string() })
        })
    }
}
