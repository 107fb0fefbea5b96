//! Events of a loop thread.

use std::io;

use bytes::Bytes;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::consensus::{Entry, GetEntriesContext, Message};
use crate::error::{ChangeError, FetchError, ProposeError, ReadError};
use crate::failure::FailureCause;
use crate::machine::{LogPosition, MachineError, ProposalContext};
use crate::membership::Change;
use crate::pending::Permit;
use crate::snapshot::{Incoming, Outgoing};
use crate::status::{Applied, GroupStatus};

/// The caller that waits for a change of members; the response is the index of its entry.
pub(crate) type ChangeSender = oneshot::Sender<Result<u64, ChangeError>>;

/// The caller that waits for a proposal.
pub(crate) struct Reply {
    pub(crate) sender: oneshot::Sender<Result<Applied, ProposeError>>,
    pub(crate) permit: Permit,
    /// Kept until the entry is applied.
    pub(crate) context: ProposalContext,
}

impl Reply {
    pub(crate) fn send(self, result: Result<Applied, ProposeError>) {
        let Self { sender, permit, context: _ } = self;
        drop(permit);
        // Fails if the proposer no longer waits; the entry stays in the log regardless.
        let _ = sender.send(result);
    }
}

/// The state of a new proposal's payload.
pub(crate) enum PayloadState {
    /// Part of the log entry.
    InLog,
    /// `prepare` is running; an [`Event::Prepared`] with the same ticket follows.
    Preparing { order: u64, ticket: u64 },
}

/// A proposal to be appended to the log.
pub(crate) struct NewProposal {
    pub(crate) header: Bytes,
    pub(crate) payload: Bytes,
    pub(crate) state: PayloadState,
    pub(crate) reply: Reply,
}

/// Entries read back from the log, with their payloads.
pub(crate) struct Fetched {
    pub(crate) low: u64,
    pub(crate) result: Result<Vec<Entry>, FetchError>,
    pub(crate) context: GetEntriesContext,
}

/// An event of a loop thread. `group` is always the folded id.
pub(crate) enum Event {
    /// A group is available in [`Opened`](crate::event_loop::Opened).
    Start {
        group: u64,
    },
    Stop {
        group: u64,
        done: oneshot::Sender<bool>,
    },
    Propose {
        group: u64,
        proposal: NewProposal,
    },
    Prepared {
        group: u64,
        order: u64,
        ticket: u64,
        result: io::Result<()>,
    },
    /// Messages of one frame, and their share of the inbox limit.
    Messages {
        from: Uuid,
        messages: Vec<(u64, Message)>,
        bytes: usize,
    },
    /// The payloads of a queued append are stored, or failed.
    AppendPrepared {
        group: u64,
        ticket: u64,
        result: io::Result<()>,
    },
    /// Readies on disk: (group, number).
    Persisted(Vec<(u64, u64)>),
    /// The log failed permanently.
    LogFailed {
        group: u64,
        reason: String,
    },
    /// A caller waits for `applied` to advance.
    AppliedMoved {
        group: u64,
    },
    MachineFailed {
        group: u64,
        cause: FailureCause,
        reason: String,
    },
    Flushed {
        group: u64,
        at: LogPosition,
    },
    SnapshotTaken {
        group: u64,
        result: Result<Outgoing, MachineError>,
    },
    SnapshotSent {
        group: u64,
        to: u64,
        ok: bool,
    },
    SnapshotReceived {
        group: u64,
        message: Box<Message>,
        incoming: Incoming,
    },
    Restored {
        group: u64,
        at: LogPosition,
    },
    Fetched {
        group: u64,
        fetched: Fetched,
    },
    Read {
        group: u64,
        /// A follower may answer, too.
        anywhere: bool,
        sender: oneshot::Sender<Result<u64, ReadError>>,
    },
    /// A caller waits until `index` is applied.
    Applied {
        group: u64,
        index: u64,
        sender: oneshot::Sender<Result<u64, ReadError>>,
    },
    Status {
        group: u64,
        sender: oneshot::Sender<GroupStatus>,
    },
    Transfer {
        group: u64,
        to: Option<Uuid>,
    },
    Change {
        group: u64,
        change: Change,
        sender: ChangeSender,
    },
    /// The members are on disk.
    MembersStored {
        group: u64,
    },
    /// The log is to be trimmed up to `index`.
    TrimTo {
        group: u64,
        index: u64,
    },
    /// Makes the group's code panic, for tests.
    Panic {
        group: u64,
    },
    /// The log's purge asks this group to release old entries.
    TrimWanted {
        group: u64,
    },
}
