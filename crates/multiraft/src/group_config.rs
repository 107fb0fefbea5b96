//! What a group is started with.

use std::sync::Arc;

use uuid::Uuid;

use crate::log::LogHandle;
use crate::membership::{Membership, Peer};
use crate::options::TrimOptions;
use crate::payload::PayloadStore;

/// What [`RaftHost::start_group`](crate::RaftHost::start_group) needs.
#[derive(Clone)]
pub struct GroupConfig {
    /// Identity of the group, the same on every member.
    pub id: Uuid,
    /// Which of `peers` this node is.
    pub me: Uuid,
    /// The members that a new group begins with, this node included; the same on every member.
    /// Of a group that is in the log already the log knows better; only where members are, and
    /// their priorities, are taken from here.
    pub peers: Vec<Peer>,
    /// For a group that runs elsewhere already and that this node was added to: its members, as
    /// one of them says. `peers` do not matter then.
    pub joined: Option<Membership>,
    /// The log that holds this group's entries.
    pub log: LogHandle,
    /// When the log is trimmed.
    pub trim: TrimOptions,
    /// Where payloads that do not ride in the log live.
    pub payloads: Option<Arc<dyn PayloadStore>>,
    /// Whether [`read_index`](crate::Group::read_index) may rely on a lease of a third of the
    /// election timeout, so that most reads cost no network. The price: a member that restarts
    /// takes no part in elections for that long. The same on every member.
    pub lease_reads: bool,
    /// Whether a majority of new members may begin the group, so that one that never comes holds up
    /// nothing. A member whose disk was replaced looks like a new one, and with another one that no
    /// leader has met it would begin the group anew: only for groups whose manager makes sure that
    /// no such member joins. Without it all first members must be there. The same on every member.
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

    /// Lets a majority of new members begin the group.
    pub fn begun_by_majority(mut self) -> Self {
        self.majority_begins = true;
        self
    }

    /// Does without read leases: elections after a restart begin at once.
    pub fn without_leases(mut self) -> Self {
        self.lease_reads = false;
        self
    }

    /// Joins a group that runs elsewhere.
    pub fn joining(mut self, membership: Membership) -> Self {
        self.joined = Some(membership);
        self
    }

    /// Keeps payloads in `store`.
    pub fn with_payloads(mut self, store: Arc<dyn PayloadStore>) -> Self {
        self.payloads = Some(store);
        self
    }
}
