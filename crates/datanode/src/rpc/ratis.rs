//! Ratis' client protocol: published clients write into pipelines through it. A Ratis group is a
//! pipeline, its members are DataNodes by their uuids, a log index is a block commit sequence id.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use multiraft::Role as RaftRole;
use prost::Message;
use proto::datanode::ContainerCommandRequestProto;
use ratis_wire::{
    Answer, Done, Group, GroupId, GroupStatus, Member, PeerId, Progress, Refusal, Role, Server,
    content,
};
use types::PipelineId;

use crate::command::{self, Class, Command, Refusal as Refused};
use crate::daemon::Daemon;
use crate::dispatch::write::{self, Begun};
use crate::node::Node;
use crate::pipeline::Pipeline;

/// Finds pipelines for the protocol.
pub(crate) struct RatisServer {
    daemon: Arc<Daemon>,
    me: PeerId,
}

impl RatisServer {
    pub fn new(daemon: Arc<Daemon>) -> Self {
        let me = PeerId::new(daemon.identity.lock().details().id.0);
        Self { daemon, me }
    }
}

impl Server for RatisServer {
    fn me(&self) -> PeerId {
        self.me.clone()
    }

    fn group(&self, id: GroupId) -> Result<Arc<dyn Group>, Refusal> {
        let node = self.daemon.node().ok_or(Refusal::ServerNotReady)?;
        let found = PipelineId(id);
        let pipeline = match node.pipelines.get(found) {
            Some(pipeline) => pipeline,
            // A client gives the pipeline up after the response that there is no such group.
            None if node.pipelines.is_moving(found) => return Err(Refusal::ServerNotReady),
            None => return Err(Refusal::GroupMismatch(id)),
        };
        let (daemon, node) = (self.daemon.clone(), node.clone());
        Ok(Arc::new(PipelineGroup { daemon, node, pipeline }))
    }

    fn groups(&self) -> Vec<GroupId> {
        let ids = self.daemon.node().map(|node| node.pipelines.ids()).unwrap_or_default();
        ids.into_iter().map(|id| id.0).collect()
    }

    fn stopped(&self) -> BoxFuture<'static, ()> {
        let shutdown = self.daemon.shutdown.clone();
        async move { shutdown.cancelled().await }.boxed()
    }

    fn watch_timeout(&self) -> Duration {
        self.daemon.settings.watch_timeout
    }
}

/// A pipeline as the protocol sees it.
struct PipelineGroup {
    daemon: Arc<Daemon>,
    node: Arc<Node>,
    pipeline: Arc<Pipeline>,
}

impl PipelineGroup {
    async fn begin(
        self: Arc<Self>,
        content: Bytes,
        timeout: Option<Duration>,
    ) -> Result<Answer, Refusal> {
        let received = Instant::now();
        let (header, payload) =
            content::split(content).map_err(|error| Refusal::Invalid(error.to_string()))?;
        let request = decode(header.clone())?;
        let deadline = timeout.map(|timeout| received + timeout);
        let command = Command {
            header,
            request: Box::new(request),
            payload,
            deadline,
            peer: None,
            verify_reads: true,
        };
        let metrics = self.daemon.metrics.commands.of(command.kind());
        let mut measured = metrics.map(|metrics| metrics.owned_call(received));
        if let Some(measured) = &mut measured {
            measured.started();
        }
        if command.class() != Some(Class::Replicated) {
            let text = format!("{} is not a change", command::name(command.kind()));
            return Err(Refusal::Invalid(text));
        }
        let name = command::name(command.kind());
        let trace_id = command.request.trace_id.as_deref();
        let mut span = self.daemon.edge.request(name, trace_id, received);
        let begun = span.run(pin!(write::begin(&self.node, &self.pipeline, command))).await;
        let proposed = match begun.map_err(|refused| self.refusal(refused))? {
            Begun::Proposed(proposed) => proposed,
            Begun::Answered(answer) => {
                return Ok(std::future::ready(Ok(done(None, answer))).boxed());
            }
        };
        Ok(async move {
            let applied = span.run(pin!(proposed.applied())).await;
            let (index, answer) = applied.map_err(|refused| self.refusal(refused))?;
            if let Some(measured) = measured {
                measured.finish(answer.is_success());
            }
            Ok(done(index, answer))
        }
        .boxed())
    }

    async fn query(self: Arc<Self>, content: Bytes) -> Result<Bytes, Refusal> {
        if !self.pipeline.group.leader().ready {
            return Err(Refusal::LeaderNotReady);
        }
        let (header, _) =
            content::split(content).map_err(|error| Refusal::Invalid(error.to_string()))?;
        let response = super::grpc::answer(&self.daemon, decode(header)?, None).await;
        Ok(response.encode_to_vec().into())
    }

    /// Maps a refusal to Ratis' terms. Entries that may have been lost with a leader are retried
    /// with the next one: every command may be repeated.
    fn refusal(&self, refused: Refused) -> Refusal {
        match refused {
            Refused::NotLeader { leader, .. } => self.not_leader(leader.map(|leader| leader.0)),
            Refused::Unknown(_) => self.not_leader(self.pipeline.group.leader().leader),
            Refused::NoPipeline(id) => Refusal::GroupMismatch(id.0),
            Refused::Starting => Refusal::ServerNotReady,
            Refused::Busy(_) | Refused::Late => Refusal::Busy(refused.to_string()),
            Refused::Failed { .. } => Refusal::AlreadyClosed(refused.to_string()),
        }
    }

    fn not_leader(&self, leader: Option<uuid::Uuid>) -> Refusal {
        let me = self.daemon.identity.lock().details().id.0;
        // A leader that only just lost its place must not send clients to itself.
        let leader = leader.filter(|leader| *leader != me).map(PeerId::new);
        let members = self.members();
        let known = members.iter().all(|member| !member.address.is_empty());
        Refusal::NotLeader { leader, members: if known { members } else { Vec::new() } }
    }

    fn members(&self) -> Vec<Member> {
        let member = |peer: &multiraft::Peer| Member {
            peer: PeerId::new(peer.node),
            address: self.node.pipelines.ratis_address(peer.node).unwrap_or_default(),
            priority: u32::try_from(peer.priority).unwrap_or(0),
        };
        self.pipeline.peers.iter().map(member).collect()
    }
}

impl Group for PipelineGroup {
    fn write(
        self: Arc<Self>,
        content: Bytes,
        timeout: Option<Duration>,
    ) -> BoxFuture<'static, Result<Answer, Refusal>> {
        self.begin(content, timeout).boxed()
    }

    fn read(self: Arc<Self>, content: Bytes) -> BoxFuture<'static, Result<Bytes, Refusal>> {
        self.query(content).boxed()
    }

    fn check_leader(&self) -> Result<(), Refusal> {
        match self.pipeline.group.leader() {
            _ if self.pipeline.group.is_leader() => Ok(()),
            state => Err(self.not_leader(state.leader)),
        }
    }

    fn progress(&self) -> Vec<Progress> {
        let progress = |known: multiraft::MemberProgress| Progress {
            peer: PeerId::new(known.node),
            stored: known.matched,
            committed: known.committed,
            silent: known.silent,
        };
        self.pipeline.group.progress().into_iter().map(progress).collect()
    }

    fn progress_changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.pipeline.group.progress_changes()
    }

    fn status(self: Arc<Self>) -> BoxFuture<'static, Option<GroupStatus>> {
        async move {
            let status = self.pipeline.group.status().await?;
            Some(GroupStatus {
                role: match status.role {
                    RaftRole::Leader => Role::Leader,
                    RaftRole::Candidate => Role::Candidate,
                    RaftRole::Follower => Role::Follower,
                },
                leader: status.leader.map(PeerId::new),
                term: status.term,
                applied: status.applied,
                committed: status.commit,
                last: status.last_index,
                healthy: status.failed.is_none(),
                members: self.members(),
            })
        }
        .boxed()
    }
}

fn decode(header: Bytes) -> Result<ContainerCommandRequestProto, Refusal> {
    ContainerCommandRequestProto::decode(header)
        .map_err(|error| Refusal::Invalid(error.to_string()))
}

/// A failed command is done, too: its message contains the failure.
fn done(index: Option<u64>, answer: command::Answer) -> Done {
    Done { index: index.unwrap_or(0), message: answer.encode() }
}
