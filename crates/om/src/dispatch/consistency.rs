//! Consistency of reads: the state that one must show before this OM may answer it.
//!
//! * On the **leader**: everything; its lease proves it without a message.
//! * On **another OM**, for clients that ask for `LINEARIZABLE_ALLOW_FOLLOWER`: everything as well;
//!   it requests the commit index from the leader, once for all waiting reads, and waits until it
//!   has applied that.
//! * On **another OM**, for clients that ask for `LOCAL_LEASE`: its own tables, unless it lacks too
//!   many known entries, or cannot prove that it had everything a bounded time ago. Contact
//!   with the leader is no proof: an OM whose disk is full or whose tables hang has contact
//!   all the time. One that has just started has no proof yet, and asks the leader as above.
//!
//! A client that sends the index of its last write sees that write, whichever way.

use std::time::Duration;

use framed::Status;
use proto::ozone::{OmRequest, ReadConsistencyHint, ReadConsistencyProto as Consistency};

use super::Dispatcher;

/// Time for which a read waits for the writes of its own client, or for entries that an OM lacks
/// after its start.
const OWN_WRITES_TIMEOUT: Duration = Duration::from_secs(1);

/// Decision on a read of this OM's own tables.
enum Local {
    /// The tables are fresh enough.
    Answer,
    /// Their freshness is unproven: this OM has just started, or leads without a lease.
    AskLeader,
    /// Only the leader may answer.
    Refuse,
}

impl Dispatcher {
    /// Returns when the tables are fresh enough for `request`.
    pub(super) async fn consistent(&self, request: &OmRequest) -> Result<(), Status> {
        let group = &self.parts.group;
        if let Some(at) = request.read_from.filter(|at| group.applied() < *at) {
            match tokio::time::timeout(OWN_WRITES_TIMEOUT, group.wait_applied(at)).await {
                Ok(applied) => applied.map_err(|e| self.read_status(&e))?,
                Err(_) => return Err(self.not_leader()),
            }
        }
        if group.can_read_now() {
            return Ok(());
        }
        let hint = request.read_consistency_hint.as_deref();
        let read = match hint.map(ReadConsistencyHint::read_consistency) {
            Some(Consistency::LinearizableAllowFollower) => group.read_index_anywhere().await,
            Some(Consistency::LocalLease) => match self.local(hint) {
                Local::Answer => return Ok(()),
                Local::AskLeader => {
                    let read =
                        tokio::time::timeout(OWN_WRITES_TIMEOUT, group.read_index_anywhere()).await;
                    read.map_err(|_| self.not_leader())?
                }
                Local::Refuse => group.read_index().await,
            },
            _ => group.read_index().await,
        };
        read.map(|_| ()).map_err(|e| self.read_status(&e))
    }

    /// Decides if this OM is close enough to its leader, by its own bounds and the client's.
    fn local(&self, hint: Option<&ReadConsistencyHint>) -> Local {
        let own = &self.parts.local_reads;
        if !own.enabled {
            return Local::Refuse;
        }
        let asked = hint.and_then(|h| h.local_lease_context.as_ref());
        let entries = asked.and_then(|a| a.log_limit).map_or(own.entries, |n| n.min(own.entries));
        let millis = asked.and_then(|a| a.lease_time_ms).map_or(own.millis, |n| n.min(own.millis));
        let known = self.parts.group.staleness();
        match known.behind.map(|behind| behind.as_millis() <= u128::from(millis)) {
            None => Local::AskLeader,
            Some(near) if near && known.entries <= entries => Local::Answer,
            Some(_) => Local::Refuse,
        }
    }
}
