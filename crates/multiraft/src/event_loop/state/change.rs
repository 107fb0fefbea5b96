//! Membership changes in progress.

use uuid::Uuid;

use crate::apply::ApplyTask;
use crate::event::ChangeSender;
use crate::membership::Membership;
use crate::transport::Target;

/// Membership state of a group in addition to that of the Raft library.
#[derive(Default)]
pub(crate) struct Changing {
    /// The caller that waits for the change at an index, proposed in a term.
    pub(in crate::event_loop) waiting: Option<(u64, u64, ChangeSender)>,
    /// Number of pending writes of members to disk.
    pub(in crate::event_loop) writes: usize,
    /// Tasks of the state machine that wait for these writes.
    pub(in crate::event_loop) held: Vec<ApplyTask>,
    /// A later membership than the log's, received from another member.
    pub(in crate::event_loop) heard: Option<Membership>,
    /// Removed members that are to be notified.
    pub(in crate::event_loop) former: Vec<Target>,
    /// A joining member, and the last log index at its last check.
    pub(in crate::event_loop) joining: Option<(Uuid, u64)>,
}
