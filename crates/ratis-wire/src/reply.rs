//! Replies, with Java's requirements on an exception, and errors of a whole stream.

use bytes::Bytes;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

use crate::group::{Done, Member, Progress, Refusal};
use crate::ids::{CallKey, GroupId, PeerId};
use crate::wire::common::raft_client_reply_proto::ExceptionDetails;
use crate::wire::common::{
    AlreadyClosedExceptionProto, ClientMessageEntryProto, CommitInfoProto,
    LeaderNotReadyExceptionProto, NotLeaderExceptionProto, NotReplicatedExceptionProto,
    RaftClientReplyProto, RaftGroupIdProto, RaftGroupMemberIdProto, RaftPeerProto,
    RaftRpcReplyProto, StateMachineExceptionProto,
};

/// A serialized Java `StackTraceElement[0]`. Clients always read a stack trace, and fail on a
/// missing one.
const NO_STACK_TRACE: &[u8] = b"\xac\xed\x00\x05ur\x00\x1e[Ljava.lang.StackTraceElement;\
\x02F*<<\xfd\x229\x02\x00\x00xp\x00\x00\x00\x00";

/// Trailer with the Java class of a stream's final error.
const EXCEPTION_TYPE: &str = "exception-type";

/// The class for exceptions of a state machine or client library without a class of their own here.
const EXCEPTIONS: &str = "org.apache.ratis.protocol.exceptions.";

/// Builds replies to one call.
#[derive(Debug, Clone)]
pub(crate) struct Replies {
    pub key: CallKey,
    pub me: PeerId,
}

impl Replies {
    /// The common part of every reply.
    pub fn rpc(&self, success: bool) -> RaftRpcReplyProto {
        RaftRpcReplyProto {
            requestor_id: id_bytes(self.key.client),
            reply_id: self.me.to_wire(),
            raft_group_id: Some(RaftGroupIdProto { id: id_bytes(self.key.group) }),
            call_id: self.key.call,
            success,
        }
    }

    /// A successful reply.
    pub fn done(&self, done: Done, progress: &[Progress]) -> RaftClientReplyProto {
        RaftClientReplyProto {
            rpc_reply: Some(self.rpc(true)),
            message: Some(ClientMessageEntryProto { content: done.message }),
            exception_details: None,
            log_index: done.index,
            commit_infos: commit_infos(progress),
        }
    }

    /// A reply with an exception.
    ///
    /// # Errors
    /// The status that ends the stream.
    pub fn refused(
        &self,
        refusal: Refusal,
        progress: &[Progress],
    ) -> Result<RaftClientReplyProto, Status> {
        let details = match refusal {
            Refusal::NotLeader { leader, members } => {
                ExceptionDetails::NotLeaderException(not_leader(leader, members))
            }
            Refusal::LeaderNotReady => {
                let member = RaftGroupMemberIdProto {
                    peer_id: self.me.to_wire(),
                    group_id: id_bytes(self.key.group),
                };
                ExceptionDetails::LeaderNotReadyException(LeaderNotReadyExceptionProto {
                    server_id: Some(member),
                })
            }
            Refusal::NotReplicated { index, level } => {
                ExceptionDetails::NotReplicatedException(NotReplicatedExceptionProto {
                    call_id: self.key.call,
                    replication: level.to_wire() as i32,
                    log_index: index,
                })
            }
            Refusal::StateMachine { class, message } => {
                ExceptionDetails::StateMachineException(StateMachineExceptionProto {
                    exception_class_name: class.to_owned(),
                    error_msg: message,
                    stacktrace: Bytes::from_static(NO_STACK_TRACE),
                })
            }
            Refusal::AlreadyClosed(message) => {
                ExceptionDetails::AlreadyClosedException(AlreadyClosedExceptionProto {
                    exception_class_name: format!("{EXCEPTIONS}AlreadyClosedException"),
                    error_msg: message,
                    stacktrace: Bytes::from_static(NO_STACK_TRACE),
                })
            }
            refusal => return Err(status(&refusal)),
        };
        Ok(RaftClientReplyProto {
            rpc_reply: Some(self.rpc(false)),
            exception_details: Some(details),
            commit_infos: commit_infos(progress),
            ..Default::default()
        })
    }
}

/// The status that ends a stream.
pub(crate) fn status(refusal: &Refusal) -> Status {
    let class = match refusal {
        Refusal::GroupMismatch(_) => "GroupMismatchException",
        Refusal::ServerNotReady => "ServerNotReadyException",
        Refusal::Busy(_) => "ResourceUnavailableException",
        Refusal::Invalid(_) => return Status::invalid_argument(refusal.to_string()),
        Refusal::Unsupported(_) => return Status::unimplemented(refusal.to_string()),
        _ => "RaftException",
    };
    let mut trailers = MetadataMap::new();
    if let Ok(class) = MetadataValue::try_from(format!("{EXCEPTIONS}{class}")) {
        trailers.insert(EXCEPTION_TYPE, class);
    }
    Status::with_metadata(Code::Internal, refusal.to_string(), trailers)
}

fn not_leader(leader: Option<PeerId>, members: Vec<Member>) -> NotLeaderExceptionProto {
    let peers: Vec<RaftPeerProto> = members.into_iter().map(to_peer).collect();
    let suggested = leader.map(|leader| {
        let known = peers.iter().find(|peer| peer.id == leader.to_wire());
        known.cloned().unwrap_or_else(|| leader.to_peer())
    });
    NotLeaderExceptionProto { suggested_leader: suggested, peers_in_conf: peers }
}

/// Converts a member to the form for clients.
pub(crate) fn to_peer(member: Member) -> RaftPeerProto {
    RaftPeerProto {
        priority: member.priority,
        client_address: member.address.clone(),
        address: member.address,
        ..member.peer.to_peer()
    }
}

pub(crate) fn commit_infos(progress: &[Progress]) -> Vec<CommitInfoProto> {
    let info = |member: &Progress| CommitInfoProto {
        server: Some(member.peer.to_peer()),
        commit_index: member.committed,
    };
    progress.iter().map(info).collect()
}

/// A UUID as 16 bytes.
pub(crate) fn id_bytes(id: GroupId) -> Bytes {
    Bytes::copy_from_slice(id.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::level::Level;

    fn replies() -> Replies {
        let key = CallKey { group: Uuid::from_u128(1), client: Uuid::from_u128(2), call: 3 };
        Replies { key, me: PeerId::new(Uuid::from_u128(4)) }
    }

    #[test]
    fn an_empty_stack_trace_is_what_java_writes() {
        assert_eq!(NO_STACK_TRACE.len(), 55);
        assert_eq!(&NO_STACK_TRACE[..4], [0xac, 0xed, 0, 5]);
        assert_eq!(&NO_STACK_TRACE[38..], b"\x02\x46\x2a\x3c\x3c\xfd\x22\x39\x02\0\0xp\0\0\0\0");
    }

    #[test]
    fn refusals_name_everybody_as_the_wire_wants_it() {
        let me = Uuid::from_u128(4);
        let member = Member { peer: PeerId::new(me), address: "h:1".into(), priority: 2 };
        let refusal = Refusal::NotLeader { leader: Some(PeerId::new(me)), members: vec![member] };
        let progress =
            [Progress { peer: PeerId::new(me), stored: 9, committed: 8, silent: Duration::ZERO }];
        let reply = replies().refused(refusal, &progress).unwrap();
        let rpc = reply.rpc_reply.unwrap();
        assert_eq!(rpc.requestor_id[..], *Uuid::from_u128(2).as_bytes());
        assert_eq!(rpc.reply_id, me.to_string());
        assert_eq!((rpc.call_id, rpc.success), (3, false));
        let Some(ExceptionDetails::NotLeaderException(not_leader)) = reply.exception_details else {
            panic!("wrong exception")
        };
        assert_eq!(not_leader.suggested_leader.as_ref(), not_leader.peers_in_conf.first());
        assert_eq!(not_leader.peers_in_conf[0].client_address, "h:1");
        assert_eq!(reply.commit_infos[0].commit_index, 8);
        let late = Refusal::NotReplicated { index: 7, level: Level::AllCommitted };
        let reply = replies().refused(late, &progress).unwrap();
        let Some(ExceptionDetails::NotReplicatedException(late)) = reply.exception_details else {
            panic!("wrong exception")
        };
        assert_eq!((late.call_id, late.replication, late.log_index), (3, 3, 7));
    }

    #[test]
    fn a_group_elsewhere_ends_the_stream_with_its_java_class() {
        let status = replies().refused(Refusal::GroupMismatch(Uuid::nil()), &[]).unwrap_err();
        assert_eq!(status.code(), Code::Internal);
        assert_eq!(
            status.metadata().get(EXCEPTION_TYPE).unwrap(),
            "org.apache.ratis.protocol.exceptions.GroupMismatchException"
        );
    }
}
