//! `AdminProtocolService`: group information.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use crate::call::{Calls, nonsense};
use crate::group::{GroupStatus, Role};
use crate::ids::GroupId;
use crate::reply::{Replies, commit_infos, id_bytes, to_peer};
use crate::request::{call_key, group_id};
use crate::wire::common::role_info_proto::PeerInfo;
use crate::wire::common::{
    FollowerInfoProto, GroupInfoReplyProto, GroupInfoRequestProto, GroupListReplyProto,
    GroupListRequestProto, LeaderInfoProto, LogInfoProto, RaftConfigurationProto, RaftGroupIdProto,
    RaftGroupProto, RaftPeerProto, RaftPeerRole, RaftRpcRequestProto, RoleInfoProto,
    ServerRpcProto, TermIndexProto,
};
use crate::wire::grpc::admin_protocol_service_server::AdminProtocolService;

/// Serves administrators.
pub struct AdminService {
    calls: Arc<Calls>,
}

impl AdminService {
    pub(super) fn new(calls: Arc<Calls>) -> Self {
        Self { calls }
    }

    fn replies(&self, rpc: Option<RaftRpcRequestProto>) -> Result<Replies, Status> {
        let rpc = rpc.ok_or_else(|| Status::invalid_argument("rpcRequest is missing"))?;
        let key = call_key(&rpc).map_err(nonsense)?;
        Ok(Replies { key, me: self.calls.server.me() })
    }
}

#[tonic::async_trait]
impl AdminProtocolService for AdminService {
    async fn group_list(
        &self,
        request: Request<GroupListRequestProto>,
    ) -> Result<Response<GroupListReplyProto>, Status> {
        let replies = self.replies(request.into_inner().rpc_request)?;
        let ids = self.calls.server.groups().into_iter().map(wire_group_id).collect();
        Ok(Response::new(GroupListReplyProto { rpc_reply: Some(replies.rpc(true)), group_id: ids }))
    }

    async fn group_info(
        &self,
        request: Request<GroupInfoRequestProto>,
    ) -> Result<Response<GroupInfoReplyProto>, Status> {
        let GroupInfoRequestProto { rpc_request, group_id: asked } = request.into_inner();
        let replies = self.replies(rpc_request)?;
        let id = group_id(asked.as_ref()).map_err(nonsense)?;
        let group = self.calls.server.group(id).map_err(nonsense)?;
        let commits = commit_infos(&group.progress());
        let gone = || nonsense(crate::Refusal::GroupMismatch(id));
        let status = group.status().await.ok_or_else(gone)?;
        let peers: Vec<RaftPeerProto> = status.members.iter().cloned().map(to_peer).collect();
        let at = |index| Some(TermIndexProto { term: status.term, index });
        Ok(Response::new(GroupInfoReplyProto {
            rpc_reply: Some(replies.rpc(true)),
            group: Some(RaftGroupProto { group_id: Some(wire_group_id(id)), peers: peers.clone() }),
            role: Some(role(&replies, &status, &peers)),
            is_raft_storage_healthy: status.healthy,
            commit_infos: commits,
            log_info: Some(LogInfoProto {
                last_snapshot: None,
                applied: at(status.applied),
                committed: at(status.committed),
                last_entry: at(status.last),
            }),
            conf: Some(RaftConfigurationProto { peers, ..Default::default() }),
        }))
    }
}

fn wire_group_id(id: GroupId) -> RaftGroupIdProto {
    RaftGroupIdProto { id: id_bytes(id) }
}

fn role(replies: &Replies, status: &GroupStatus, peers: &[RaftPeerProto]) -> RoleInfoProto {
    let peer = |id: bytes::Bytes| peers.iter().find(|peer| peer.id == id).cloned();
    let me = replies.me.to_wire();
    let others = peers.iter().filter(|peer| peer.id != me);
    let contact = |peer: &RaftPeerProto| ServerRpcProto {
        id: Some(peer.clone()),
        last_rpc_elapsed_time_ms: 0,
    };
    let (role, info) = match status.role {
        Role::Leader => {
            let follower_info = others.map(contact).collect();
            let info = LeaderInfoProto { follower_info, term: status.term };
            (RaftPeerRole::Leader, PeerInfo::LeaderInfo(info))
        }
        Role::Candidate => (RaftPeerRole::Candidate, PeerInfo::CandidateInfo(Default::default())),
        Role::Follower => {
            let leader = status.leader.as_ref().and_then(|leader| peer(leader.to_wire()));
            let leader_info = leader.as_ref().map(contact);
            let info = FollowerInfoProto { leader_info, outstanding_op: 0 };
            (RaftPeerRole::Follower, PeerInfo::FollowerInfo(info))
        }
    };
    RoleInfoProto {
        self_: peer(me),
        role: role as i32,
        role_elapsed_time_ms: 0,
        peer_info: Some(info),
    }
}
