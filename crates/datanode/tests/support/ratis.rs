//! A client of Ratis' protocol, as small as can be.

use bytes::Bytes;
use prost::Message;
use proto::datanode::{ContainerCommandRequestProto, ContainerCommandResponseProto, Type};
use ratis_wire::common::raft_client_request_proto::Type as Kind;
use ratis_wire::common::{
    ClientMessageEntryProto, RaftClientReplyProto, RaftClientRequestProto, RaftGroupIdProto,
    RaftRpcRequestProto, SlidingWindowEntry, WatchRequestTypeProto, WriteRequestTypeProto,
};
use ratis_wire::content;
use ratis_wire::grpc::raft_client_protocol_service_client::RaftClientProtocolServiceClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};
use types::{DatanodeId, PipelineId};
use uuid::Uuid;

use super::Cluster;

/// A stream of ordered requests to one DataNode.
pub struct Ratis {
    pipeline: PipelineId,
    client: Uuid,
    next: u64,
    /// Nothing was sent on this stream yet.
    fresh: bool,
    requests: mpsc::Sender<RaftClientRequestProto>,
    replies: Streaming<RaftClientReplyProto>,
}

impl Ratis {
    pub async fn open(cluster: &Cluster, node: DatanodeId, pipeline: PipelineId) -> Self {
        Self::open_as(cluster, node, pipeline, Uuid::new_v4(), 1).await
    }

    /// A stream of a client that may have had one before, from its call `next` on.
    pub async fn open_as(
        cluster: &Cluster,
        node: DatanodeId,
        pipeline: PipelineId,
        client: Uuid,
        next: u64,
    ) -> Self {
        let node = cluster.nodes.iter().find(|n| n.id == node).unwrap();
        let address = format!("http://{}", node.handle.as_ref().unwrap().addresses().ratis);
        let connected = RaftClientProtocolServiceClient::connect(address).await.unwrap();
        let (requests, receiver) = mpsc::channel(64);
        let replies = connected.max_decoding_message_size(64 << 20);
        let replies = replies.clone().ordered(ReceiverStream::new(receiver)).await.unwrap();
        Self { pipeline, client, next, fresh: true, requests, replies: replies.into_inner() }
    }

    async fn send(&mut self, kind: Kind, content: Bytes) -> u64 {
        let call = self.next;
        self.next += 1;
        let first = std::mem::take(&mut self.fresh);
        let id = Bytes::copy_from_slice(self.pipeline.0.as_bytes());
        let request = RaftClientRequestProto {
            rpc_request: Some(RaftRpcRequestProto {
                requestor_id: Bytes::copy_from_slice(self.client.as_bytes()),
                reply_id: Uuid::nil().to_string().into(),
                raft_group_id: Some(RaftGroupIdProto { id }),
                call_id: call,
                to_leader: true,
                sliding_window_entry: Some(SlidingWindowEntry { seq_num: call, is_first: first }),
                ..Default::default()
            }),
            message: Some(ClientMessageEntryProto { content }),
            r#type: Some(kind),
        };
        self.requests.send(request).await.unwrap();
        call
    }

    /// Sends a command without waiting for its answer.
    pub async fn begin(&mut self, request: &ContainerCommandRequestProto, data: &[u8]) -> u64 {
        let content = content::join(&request.encode_to_vec(), data).unwrap();
        self.send(Kind::Write(WriteRequestTypeProto::default()), content).await
    }

    pub async fn begin_watch(&mut self, index: u64, level: i32) -> u64 {
        let watch = WatchRequestTypeProto { index, replication: level };
        self.send(Kind::Watch(watch), Bytes::new()).await
    }

    /// The next reply, or the error that ended the stream.
    pub async fn reply(&mut self) -> Result<RaftClientReplyProto, Status> {
        self.replies.message().await.map(|reply| reply.expect("the stream goes on"))
    }

    /// The next reply of the state machine.
    pub async fn response(&mut self) -> (u64, ContainerCommandResponseProto) {
        let reply = self.reply().await.unwrap();
        assert!(reply.rpc_reply.as_ref().unwrap().success, "{reply:?}");
        let content = reply.message.unwrap().content;
        (reply.log_index, ContainerCommandResponseProto::decode(content).unwrap())
    }

    /// Sends a command and waits for its answer.
    pub async fn write(
        &mut self,
        request: &ContainerCommandRequestProto,
        data: &[u8],
    ) -> (u64, ContainerCommandResponseProto) {
        self.begin(request, data).await;
        self.response().await
    }
}

/// A command as published clients send it.
pub fn command(kind: Type, container: u64) -> ContainerCommandRequestProto {
    ContainerCommandRequestProto {
        cmd_type: kind as i32,
        trace_id: Some(String::new()),
        container_id: container as i64,
        version: Some(3),
        ..Default::default()
    }
}
