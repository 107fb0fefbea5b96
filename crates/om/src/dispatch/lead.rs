//! The leader: reads of its state, and leader transfers.

use std::time::Duration;

use bytes::Bytes;
use multiraft::MemberRole;
use proto::om_admin::OmStateResponse;
use proto::ozone::{OmRequest, Status as OmStatus};
use replicated::TransferError;
use uuid::Uuid;

use super::Dispatcher;
use super::outcome::refusal;
use crate::members::Member;

/// Timeout of a leader transfer.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(30);

impl Dispatcher {
    /// Name of a member's role in lists of roles.
    pub(crate) fn role_of(&self, raft_id: Uuid, leads: bool) -> &'static str {
        let role = self.parts.group.membership().find(raft_id).map(|m| m.role);
        match role {
            _ if leads => "LEADER",
            Some(MemberRole::Voter) => "FOLLOWER",
            Some(MemberRole::Joining) => "LEARNER",
            Some(MemberRole::Listener) => "LISTENER",
            None => "REMOVED",
        }
    }

    /// Raft state of this OM.
    pub(crate) fn state(&self) -> OmStateResponse {
        let (group, members) = (&self.parts.group, &self.parts.facts.members);
        let state = group.leader();
        let leader = state.leader.and_then(|id| members.by_raft_id(id));
        let leads = state.leader == Some(members.me.raft_id);
        let stale = group.staleness();
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let applied = group.applied();
        OmStateResponse {
            node_id: members.me.node_id.clone(),
            role: self.role_of(members.me.raft_id, leads).to_owned(),
            leader_id: leader.map(|m| m.node_id),
            term: state.term,
            applied,
            committed: applied + stale.entries,
            ready: state.ready,
            silent_ms: stale.silent.map(millis),
            behind_ms: stale.behind.map(millis),
        }
    }

    /// Hands leadership to the OM that a request names, or to any when it names none; `Err` is the
    /// refusal.
    pub(super) async fn transfer_leadership(&self, request: &OmRequest) -> Result<(), Bytes> {
        let (group, members) = (&self.parts.group, &self.parts.facts.members);
        let asked = request.transfer_om_leadership_request.as_ref();
        let wanted = asked.map_or("", |r| r.new_leader_id.as_str());
        let refuse = |message: String| {
            let status = OmStatus::InvalidRequest;
            refusal(request.cmd_type, request.trace_id.clone(), status, message)
        };
        let membership = group.membership();
        let all = members.all();
        let target = if wanted.is_empty() {
            None
        } else {
            let votes = |m: &&Member| {
                let known = membership.find(m.raft_id);
                m.node_id == wanted && known.is_some_and(|known| known.role.votes())
            };
            let found = all.iter().find(votes);
            let found =
                found.ok_or_else(|| refuse(format!("There is no OM {wanted} in the service")))?;
            Some(found.raft_id)
        };
        let transferred = self.parts.raft.transfer_leadership(target, TRANSFER_TIMEOUT).await;
        transferred.map_err(|error| match error {
            TransferError::OnlyMember => {
                refuse("This OM is the only one of its service".to_owned())
            }
            TransferError::NoVoter(_) => refuse(format!("There is no OM {wanted} in the service")),
            TransferError::Timeout(timeout) => {
                refuse(format!("{wanted} did not take over within {timeout:?}"))
            }
        })
    }
}
