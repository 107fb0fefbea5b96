//! A server with one group whose writes the test completes, and a handwritten client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use ratis_wire::common::raft_client_request_proto::Type;
use ratis_wire::common::{
    ClientMessageEntryProto, RaftClientReplyProto, RaftClientRequestProto, RaftGroupIdProto,
    RaftRpcRequestProto, SlidingWindowEntry, WatchRequestTypeProto, WriteRequestTypeProto,
};
use ratis_wire::grpc::raft_client_protocol_service_client::RaftClientProtocolServiceClient;
use ratis_wire::{
    Answer, Done, Group, GroupId, GroupStatus, Member, PeerId, Progress, RatisServices, Refusal,
    Role, Server,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;
use tonic::{Status, Streaming};
use uuid::Uuid;

pub const GROUP: Uuid = Uuid::from_u128(77);
pub const ME: Uuid = Uuid::from_u128(1);
pub const CLIENT: Uuid = Uuid::from_u128(1000);

/// A group of three controlled by the test.
pub struct TestGroup {
    pub leads: AtomicBool,
    /// The received writes, in order.
    pub written: Mutex<Vec<Bytes>>,
    /// Writes that wait for the test; those with an empty content complete at once.
    pub held: Mutex<Vec<oneshot::Sender<Result<Done, Refusal>>>>,
    pub progress: Mutex<Vec<Progress>>,
    pub changes: watch::Sender<u64>,
    pub stopped: watch::Sender<bool>,
}

impl TestGroup {
    pub fn reach(&self, committed: [u64; 3]) {
        let progress = committed.into_iter().enumerate().map(|(n, committed)| Progress {
            peer: PeerId::new(Uuid::from_u128(n as u128 + 1)),
            stored: committed,
            committed,
            silent: Duration::ZERO,
        });
        *self.progress.lock() = progress.collect();
        self.changes.send_modify(|n| *n += 1);
    }

    pub fn contents(&self) -> Vec<String> {
        let text = |b: &Bytes| String::from_utf8_lossy(b).into_owned();
        self.written.lock().iter().map(text).collect()
    }

    pub async fn held(&self, count: usize) {
        testkit::until("writes to be held", async || self.held.lock().len() >= count).await;
    }
}

impl Group for TestGroup {
    fn write(
        self: Arc<Self>,
        content: Bytes,
        _: Option<Duration>,
    ) -> BoxFuture<'static, Result<Answer, Refusal>> {
        async move {
            self.check_leader()?;
            self.written.lock().push(content.clone());
            let index = self.written.lock().len() as u64;
            if content.starts_with(b"refuse") {
                let class = "a.b.ContainerIsClosed";
                return Err(Refusal::StateMachine { class, message: "it is closed".into() });
            }
            if !content.starts_with(b"hold") {
                let done = Done { index, message: content };
                return Ok(std::future::ready(Ok(done)).boxed());
            }
            let (sender, receiver) = oneshot::channel();
            self.held.lock().push(sender);
            Ok(receiver.map(|outcome| outcome.unwrap()).boxed())
        }
        .boxed()
    }

    fn read(self: Arc<Self>, content: Bytes) -> BoxFuture<'static, Result<Bytes, Refusal>> {
        std::future::ready(Ok([b"read ", &content[..]].concat().into())).boxed()
    }

    fn check_leader(&self) -> Result<(), Refusal> {
        if self.leads.load(Ordering::Relaxed) {
            return Ok(());
        }
        let leader = PeerId::new(Uuid::from_u128(2));
        let member = Member { peer: leader.clone(), address: "h:2".into(), priority: 0 };
        Err(Refusal::NotLeader { leader: Some(leader), members: vec![member] })
    }

    fn progress(&self) -> Vec<Progress> {
        self.progress.lock().clone()
    }

    fn progress_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn status(self: Arc<Self>) -> BoxFuture<'static, Option<GroupStatus>> {
        let peer = |n| PeerId::new(Uuid::from_u128(n));
        let member = |n| Member { peer: peer(n), address: format!("h:{n}"), priority: 0 };
        let status = GroupStatus {
            role: Role::Leader,
            leader: Some(peer(1)),
            term: 3,
            applied: 7,
            committed: 8,
            last: 9,
            healthy: true,
            members: (1..4).map(member).collect(),
        };
        std::future::ready(Some(status)).boxed()
    }
}

pub struct TestServer(Arc<TestGroup>, Duration);

impl Server for TestServer {
    fn me(&self) -> PeerId {
        PeerId::new(ME)
    }

    fn group(&self, id: GroupId) -> Result<Arc<dyn Group>, Refusal> {
        if id == GROUP { Ok(self.0.clone()) } else { Err(Refusal::GroupMismatch(id)) }
    }

    fn groups(&self) -> Vec<GroupId> {
        vec![GROUP]
    }

    fn stopped(&self) -> BoxFuture<'static, ()> {
        let mut stopped = self.0.stopped.subscribe();
        async move { _ = stopped.wait_for(|stopped| *stopped).await }.boxed()
    }

    fn watch_timeout(&self) -> Duration {
        self.1
    }
}

/// Starts a server; returns its address, and its group.
pub async fn start() -> (String, Arc<TestGroup>) {
    start_with(Duration::from_millis(50)).await
}

/// Starts a server with this watch timeout.
pub async fn start_with(watch_timeout: Duration) -> (String, Arc<TestGroup>) {
    let group = Arc::new(TestGroup {
        leads: AtomicBool::new(true),
        written: Mutex::default(),
        held: Mutex::default(),
        progress: Mutex::default(),
        changes: watch::Sender::new(0),
        stopped: watch::Sender::new(false),
    });
    group.reach([4, 4, 4]);
    let services = RatisServices::new(Arc::new(TestServer(group.clone(), watch_timeout)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = tonic::transport::Server::builder()
        .add_service(services.client())
        .add_service(services.admin())
        .serve_with_incoming(TcpIncoming::from(listener));
    tokio::spawn(server);
    (address, group)
}

/// One stream of ordered requests.
pub struct Stream {
    requests: Option<mpsc::Sender<RaftClientRequestProto>>,
    replies: Streaming<RaftClientReplyProto>,
}

impl Stream {
    pub async fn open(address: &str) -> Self {
        Self::open_as(address, true).await
    }

    pub async fn open_as(address: &str, ordered: bool) -> Self {
        let mut client =
            RaftClientProtocolServiceClient::connect(address.to_owned()).await.unwrap();
        let (requests, receiver) = mpsc::channel(64);
        let receiver = ReceiverStream::new(receiver);
        let replies = match ordered {
            true => client.ordered(receiver).await,
            false => client.unordered(receiver).await,
        };
        Self { requests: Some(requests), replies: replies.unwrap().into_inner() }
    }

    pub async fn send(&self, request: RaftClientRequestProto) {
        self.requests.as_ref().unwrap().send(request).await.unwrap();
    }

    /// Ends the client's side of the stream.
    pub fn half_close(&mut self) {
        self.requests = None;
    }

    pub async fn reply(&mut self) -> RaftClientReplyProto {
        self.replies.message().await.unwrap().unwrap()
    }

    pub async fn end(&mut self) -> Result<Option<RaftClientReplyProto>, Status> {
        self.replies.message().await
    }
}

pub fn request(call: u64, seq: u64, kind: Type, content: &str) -> RaftClientRequestProto {
    let content = Bytes::copy_from_slice(content.as_bytes());
    RaftClientRequestProto {
        rpc_request: Some(RaftRpcRequestProto {
            requestor_id: Bytes::copy_from_slice(CLIENT.as_bytes()),
            reply_id: ME.to_string().into(),
            raft_group_id: Some(RaftGroupIdProto { id: Bytes::copy_from_slice(GROUP.as_bytes()) }),
            call_id: call,
            to_leader: true,
            sliding_window_entry: Some(SlidingWindowEntry { seq_num: seq, is_first: false }),
            ..Default::default()
        }),
        message: Some(ClientMessageEntryProto { content }),
        r#type: Some(kind),
    }
}

pub fn write(call: u64, seq: u64, content: &str) -> RaftClientRequestProto {
    request(call, seq, Type::Write(WriteRequestTypeProto::default()), content)
}

pub fn watch(call: u64, seq: u64, index: u64, level: i32) -> RaftClientRequestProto {
    let watch = WatchRequestTypeProto { index, replication: level };
    request(call, seq, Type::Watch(watch), "")
}

pub fn first(mut request: RaftClientRequestProto) -> RaftClientRequestProto {
    let rpc = request.rpc_request.as_mut().unwrap();
    rpc.sliding_window_entry.as_mut().unwrap().is_first = true;
    request
}

pub fn in_group(mut request: RaftClientRequestProto, group: Uuid) -> RaftClientRequestProto {
    let id = Bytes::copy_from_slice(group.as_bytes());
    request.rpc_request.as_mut().unwrap().raft_group_id = Some(RaftGroupIdProto { id });
    request
}

/// Call and text of a reply.
pub fn text(reply: &RaftClientReplyProto) -> (u64, String) {
    let content = reply.message.as_ref().map(|m| m.content.clone()).unwrap_or_default();
    let call = reply.rpc_reply.as_ref().unwrap().call_id;
    (call, String::from_utf8_lossy(&content).into_owned())
}

/// Number of the level on the wire.
pub const ALL_COMMITTED: i32 = 3;
