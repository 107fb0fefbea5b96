//! Who leads: asked, and changed by request.

use std::time::Duration;

use bytes::Bytes;
use proto::om_admin::OmStateResponse;
use proto::ozone::{OmRequest, Status as OmStatus};

use super::Room;
use super::outcome::refusal;

/// How long a hand-over may take.
const HAND_OVER: Duration = Duration::from_secs(30);

impl Room {
    /// How this OM stands.
    pub(crate) fn state(&self) -> OmStateResponse {
        let (group, members) = (&self.parts.group, &self.parts.facts.members);
        let state = group.leader();
        let leader = state.leader.and_then(|id| members.by_raft_id(id));
        let leads = state.leader == Some(members.me.raft_id);
        let stale = group.staleness();
        let applied = group.applied();
        OmStateResponse {
            node_id: members.me.node_id.clone(),
            role: if leads { "LEADER" } else { "FOLLOWER" }.to_owned(),
            leader_id: leader.map(|m| m.node_id.clone()),
            term: state.term,
            applied,
            committed: applied + stale.entries,
            ready: state.ready,
            silent_ms: stale.silent.map(|s| u64::try_from(s.as_millis()).unwrap_or(u64::MAX)),
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
        let me = members.me.raft_id;
        let target = if wanted.is_empty() {
            None
        } else {
            let found = members.all.iter().find(|m| m.node_id == wanted);
            Some(found.ok_or_else(|| refuse(format!("There is no OM {wanted} in the service")))?)
        };
        if target.is_some_and(|m| m.raft_id == me) {
            return Ok(());
        }
        if members.all.len() == 1 {
            return Err(refuse("This OM is the only one of its service".to_owned()));
        }
        let mut changes = group.leader_changes();
        match target {
            Some(member) => group.transfer_leader(member.raft_id),
            None => group.step_down(),
        }
        let done = changes.wait_for(|state| match (state.leader, target) {
            (Some(leader), Some(member)) => leader == member.raft_id,
            (Some(leader), None) => leader != me,
            (None, _) => false,
        });
        match tokio::time::timeout(HAND_OVER, done).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(refuse(format!("{wanted} did not take over within {HAND_OVER:?}"))),
        }
    }
}
