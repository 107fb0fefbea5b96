//! `RaftClientProtocolService`: requests in streams.

use std::pin::Pin;
use std::sync::Arc;

use futures::stream::PollNext;
use futures::{FutureExt, Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

use super::ordered;
use crate::call::{Calls, nonsense};
use crate::wire::common::{RaftClientReplyProto, RaftClientRequestProto};
use crate::wire::grpc::raft_client_protocol_service_server::RaftClientProtocolService;

/// Maximum number of concurrent unordered requests of a stream.
const MOST_UNDER_WAY: usize = 128;

/// Error message for clients when the server ends their streams.
const STOPPING: &str = "the server is stopping";

/// Serves clients.
pub struct ClientService {
    calls: Arc<Calls>,
}

impl ClientService {
    pub(super) fn new(calls: Arc<Calls>) -> Self {
        Self { calls }
    }

    /// Clients keep their streams open for their whole life, and use another server when one ends
    /// with an error.
    fn until_stopped(
        &self,
        replies: impl Stream<Item = Result<RaftClientReplyProto, Status>> + Send + 'static,
    ) -> Replies {
        let stopped = self.calls.server.stopped().map(|()| Status::unavailable(STOPPING));
        let end = futures::stream::once(stopped.map(Err)).boxed();
        let replies = replies.map(Some).chain(futures::stream::once(async { None })).boxed();
        // Completes at the end of the replies, or of the server.
        let both = futures::stream::select_with_strategy(end.map(Some), replies, |_: &mut ()| {
            PollNext::Left
        });
        Box::pin(both.scan(false, |ended, reply| {
            let next = if *ended { None } else { reply };
            *ended = matches!(next, Some(Err(_)));
            std::future::ready(next)
        }))
    }
}

type Replies = Pin<Box<dyn Stream<Item = Result<RaftClientReplyProto, Status>> + Send>>;

#[tonic::async_trait]
impl RaftClientProtocolService for ClientService {
    type orderedStream = Replies;
    type unorderedStream = Replies;

    async fn ordered(
        &self,
        request: Request<Streaming<RaftClientRequestProto>>,
    ) -> Result<Response<Replies>, Status> {
        let replies = ordered::answer(self.calls.clone(), request.into_inner());
        Ok(Response::new(self.until_stopped(replies)))
    }

    async fn unordered(
        &self,
        request: Request<Streaming<RaftClientRequestProto>>,
    ) -> Result<Response<Replies>, Status> {
        let calls = self.calls.clone();
        let replies = request.into_inner().map(move |message| {
            let calls = calls.clone();
            async move {
                let request = crate::request::Request::from_wire(message?).map_err(nonsense)?;
                calls.begin(request).await.await
            }
        });
        Ok(Response::new(self.until_stopped(replies.buffer_unordered(MOST_UNDER_WAY))))
    }
}
