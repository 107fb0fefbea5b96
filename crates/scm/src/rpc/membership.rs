//! The cluster of this SCM and the members of its Raft group, for an SCM that starts without them.

use framed::Reply;
use framed::message::reply;
use proto::hdds::ScmMembershipResponseProto;

use crate::core::Core;

/// Answers, whether or not this SCM leads.
pub fn answer(core: &Core) -> Reply {
    let shared = core.identity.members.is_some();
    reply(&ScmMembershipResponseProto {
        cluster_id: Some(core.identity.cluster_id.clone()),
        membership: shared.then(|| core.group().membership().encode()),
    })
}
