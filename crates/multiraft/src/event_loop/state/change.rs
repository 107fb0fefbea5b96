//! Changes of members that are under way.

use uuid::Uuid;

use crate::apply::ApplyTask;
use crate::event::ChangeSender;
use crate::membership::Membership;
use crate::transport::Target;

/// What a group knows of its members beside what Raft does.
#[derive(Default)]
pub(crate) struct Changing {
    /// The caller that waits for the change at an index, proposed in a term.
    pub(in crate::event_loop) waiting: Option<(u64, u64, ChangeSender)>,
    /// Writes of members that are not on disk yet.
    pub(in crate::event_loop) writes: usize,
    /// What the state machine gets after that.
    pub(in crate::event_loop) held: Vec<ApplyTask>,
    /// A later membership than the log's, as another member said.
    pub(in crate::event_loop) heard: Option<Membership>,
    /// Members that were removed, to be told so.
    pub(in crate::event_loop) former: Vec<Target>,
    /// A member that joins, and how far the log was when that was last looked at.
    pub(in crate::event_loop) joining: Option<(Uuid, u64)>,
}
