//! Members.

use crate::id::fold;
use crate::membership::{Member, MemberRole, Membership};
use crate::transport::Target;

/// Another member, or this one.
pub(crate) struct MemberCore {
    pub(crate) raft_id: u64,
    pub(crate) target: Target,
    pub(crate) priority: i64,
    pub(crate) role: MemberRole,
    /// Clock of the member in its last response, 0 if there was none; see `freshness.rs`.
    pub(crate) stamp: u64,
    /// True if the member has reported to this process that it has no log; see `greeting.rs`.
    pub(crate) is_new: bool,
}

/// Returns the members in the form that event loops use.
pub(crate) fn member_cores(membership: &Membership) -> Vec<MemberCore> {
    let core = |member: &Member| MemberCore {
        raft_id: fold(member.peer.node),
        target: Target { node: member.peer.node, address: member.peer.address.clone() },
        priority: member.peer.priority,
        role: member.role,
        stamp: 0,
        is_new: false,
    };
    membership.members.iter().map(core).collect()
}
