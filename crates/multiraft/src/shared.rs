//! State shared by a group's handles and its threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use uuid::Uuid;

use crate::clock::Clock;
use crate::error::{ProposeError, TransportError};
use crate::event::Event;
use crate::failure::GroupFailure;
use crate::freshness::Freshness;
use crate::inbox::Inbox;
use crate::log::LogHealth;
use crate::membership::Membership;
use crate::metrics::{HostMetrics, add};
use crate::payload::PayloadStore;
use crate::pending::{Pending, Permit};
use crate::progress::ProgressBoard;
use crate::status::{LeaderState, Staleness};
use crate::transport::frame::FetchRequest;
use crate::transport::{Target, Transport};

/// A lease that never expires: the only member is always the leader.
pub(crate) const FOREVER: u64 = u64::MAX;

/// The part of a group that its handles, its loop thread and its apply thread share.
pub(crate) struct GroupShared {
    pub(crate) id: Uuid,
    /// `id` folded: the key in loops, apply threads and the log.
    pub(crate) number: u64,
    pub(crate) me: Uuid,
    /// The members of the group; stored by the loop when they change.
    pub(crate) membership: watch::Sender<Membership>,
    /// The others have announced that this node is no member any more.
    pub(crate) removed: watch::Sender<bool>,
    pub(crate) payloads: Option<Arc<dyn PayloadStore>>,
    pub(crate) health: Arc<LogHealth>,
    pub(crate) leader: watch::Sender<LeaderState>,
    /// The group's failure on this node.
    pub(crate) failure: watch::Sender<Option<GroupFailure>>,
    /// Applied to the state machine; stored by the apply thread.
    pub(crate) applied: AtomicU64,
    /// Committed; stored by the loop before the entries go to the apply thread.
    pub(crate) commit: AtomicU64,
    /// The last leader's commit index, and the time up to which this replica lacks nothing.
    pub(crate) freshness: Freshness,
    /// Log positions of all members, as far as known.
    pub(crate) progress: ProgressBoard,
    /// Last entry in the log; a hint only.
    pub(crate) last_index: AtomicU64,
    /// Expiry (by `clock`) of the lease, until which no other replica can lead; 0: no lease.
    pub(crate) lease_until: AtomicU64,
    /// Applied index from which on the state machine shows everything that any client has seen,
    /// whatever else is committed; see [`lease_read`](Self::lease_read). `u64::MAX`: there are
    /// other members.
    pub(crate) alone_from: AtomicU64,
    /// Reads were served since the loop's last check: the lease is worth renewing.
    pub(crate) read_recently: AtomicBool,
    /// The loop requests a notification of the next applied batch.
    pub(crate) notify_applied: AtomicBool,
    pub(crate) clock: Clock,
    /// Bytes passed to the state machine and not applied yet.
    pub(crate) applying_bytes: AtomicUsize,
    /// Pending proposals.
    pub(crate) pending: Arc<Pending>,
    /// Numbers proposals whose payload is being prepared.
    pub(crate) tickets: AtomicU64,
    /// Held while a ticket is taken and queued, so that both have one order.
    pub(crate) prepare_order: Mutex<()>,
    pub(crate) inbox: Arc<Inbox<Event>>,
    pub(crate) runtime: Handle,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) metrics: Arc<HostMetrics>,
    pub(crate) request_timeout: Duration,
    pub(crate) snapshot_rate: u64,
}

impl GroupShared {
    /// The clock in nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The applied index if a read of the state machine is linearizable at this instant.
    ///
    /// The commit index is read before the lease is checked: within the lease no other member can
    /// have committed anything, so every write acknowledged before is at or below it.
    ///
    /// The only member does not wait for committed entries to be applied: a write is acknowledged
    /// when it is applied, and no other replica can have shown it. With followers, one could have,
    /// ahead of its leader.
    pub(crate) fn lease_read(&self) -> Option<u64> {
        let lease = self.lease_until.load(Ordering::Acquire);
        if lease == 0 {
            return None;
        }
        if !self.read_recently.load(Ordering::Relaxed) {
            self.read_recently.store(true, Ordering::Relaxed);
        }
        let alone_from = self.alone_from.load(Ordering::Acquire);
        let commit = self.commit.load(Ordering::Acquire);
        let applied = self.applied.load(Ordering::Acquire);
        if applied < commit.min(alone_from) {
            return None;
        }
        let held = lease == FOREVER || self.now() < lease;
        // Leadership may have been lost between the two loads.
        (held && self.lease_until.load(Ordering::Acquire) != 0).then_some(applied)
    }

    pub(crate) fn staleness(&self) -> Staleness {
        let known = self.freshness.commit.load(Ordering::Relaxed);
        let commit = known.max(self.commit.load(Ordering::Acquire));
        let applied = self.applied.load(Ordering::Acquire);
        let entries = commit.saturating_sub(applied);
        let since = |moment: u64| Duration::from_nanos(self.now().saturating_sub(moment));
        if self.leader.borrow().leader == Some(self.me) {
            // Without a lease this leader may have been replaced unnoticed; with one it cannot.
            let behind = self.lease_read().map(|_| Duration::ZERO);
            return Staleness { entries, silent: Some(Duration::ZERO), behind };
        }
        let heard = self.freshness.heard.load(Ordering::Acquire);
        let silent = (heard != 0).then(|| since(heard));
        Staleness { entries, silent, behind: self.freshness.as_of(applied).map(since) }
    }

    /// Admits a proposal of that many bytes.
    ///
    /// # Errors
    /// If the log cannot be written, or too much is pending.
    pub(crate) fn admit(&self, bytes: usize) -> Result<Permit, ProposeError> {
        if let Some(reason) = self.health.trouble() {
            return Err(ProposeError::Log(reason));
        }
        self.pending.acquire(bytes).ok_or_else(|| {
            add(&self.metrics.proposals_busy, 1);
            ProposeError::Busy
        })
    }

    /// Returns `true` if the lease holds, whatever is applied.
    pub(crate) fn lease_held(&self) -> bool {
        let lease = self.lease_until.load(Ordering::Acquire);
        if lease != 0 && !self.read_recently.load(Ordering::Relaxed) {
            self.read_recently.store(true, Ordering::Relaxed);
        }
        lease == FOREVER || (lease != 0 && self.now() < lease)
    }

    /// All other members.
    fn others(&self) -> Vec<Target> {
        let membership = self.membership.borrow();
        let others = membership.members.iter().map(|m| &m.peer).filter(|p| p.node != self.me);
        others.map(|p| Target { node: p.node, address: p.address.clone() }).collect()
    }

    pub(crate) async fn fetch_payload(&self, header: Bytes) -> Result<Bytes, TransportError> {
        let leader = self.leader.borrow().leader;
        let mut order: Vec<Target> = self.others();
        order.sort_by_key(|target| Some(target.node) != leader);
        let request = FetchRequest { group: self.id, header }.encode();
        let mut last = TransportError::Unreachable {
            address: String::from("(no other member)"),
            detail: String::from("the group has one member"),
        };
        for target in order {
            match self.transport.fetch_payload(&target, request.clone()).await {
                Ok(payload) => return Ok(payload),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}
