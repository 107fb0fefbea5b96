//! Configuration of a group.

use std::sync::Arc;

use uuid::Uuid;

use crate::log::LogHandle;
use crate::membership::{Membership, Peer};
use crate::options::TrimOptions;
use crate::payload::PayloadStore;

/// Parameters of [`RaftHost::start_group`](crate::RaftHost::start_group).
#[derive(Clone)]
pub struct GroupConfig {
    /// Identity of the group, the same on every member.
    pub id: Uuid,
    /// This node among `peers`.
    pub me: Uuid,
    /// The initial members of a new group, including this node; the same on every member. For a
    /// group that is in the log already, the log takes precedence; only addresses and priorities of
    /// members come from here.
    pub peers: Vec<Peer>,
    /// For a group that runs elsewhere and that this node was added to: its members, as reported by
    /// one of them. `peers` are ignored then.
    pub joined: Option<Membership>,
    /// The log that holds this group's entries.
    pub log: LogHandle,
    /// Thresholds for trimming the log.
    pub trim: TrimOptions,
    /// The store of payloads outside of the log.
    pub payloads: Option<Arc<dyn PayloadStore>>,
    /// Allows [`read_index`](crate::Group::read_index) to rely on a lease of a third of the
    /// election timeout, so that most reads need no network round. The cost: a restarted member
    /// takes no part in elections for that long. The same on every member.
    pub lease_reads: bool,
    /// Allows a majority of new members to begin the group, so that a missing one blocks nothing. A
    /// member whose disk was replaced looks like a new one, and with another one that no leader has
    /// contacted it would begin the group again: only for groups whose manager ensures that no such
    /// member joins. Without it all first members must be present. The same on every member.
    pub majority_begins: bool,
}

impl GroupConfig {
    /// A group with the default thresholds and all payloads in the log.
    pub fn new(id: Uuid, me: Uuid, peers: Vec<Peer>, log: LogHandle) -> Self {
        let trim = TrimOptions::default();
        Self {
            id,
            me,
            peers,
            joined: None,
            log,
            trim,
            payloads: None,
            lease_reads: true,
            majority_begins: false,
        }
    }

    /// Allows a majority of new members to begin the group.
    pub fn begun_by_majority(mut self) -> Self {
        self.majority_begins = true;
        self
    }

    /// Disables read leases: elections after a restart start at once.
    pub fn without_leases(mut self) -> Self {
        self.lease_reads = false;
        self
    }

    /// Joins a group that runs elsewhere.
    pub fn joining(mut self, membership: Membership) -> Self {
        self.joined = Some(membership);
        self
    }

    /// Sets the payload store.
    pub fn with_payloads(mut self, store: Arc<dyn PayloadStore>) -> Self {
        self.payloads = Some(store);
        self
    }
}
