//! Streams with ordered requests: executed, and answered, in the order of their numbers.

use std::sync::Arc;

use futures::{FutureExt, Stream, StreamExt};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::MAX_MESSAGE;
use crate::call::{Calls, Reply, nonsense};
use crate::group::Refusal;
use crate::ids::GroupId;
use crate::request::Request;
use crate::window::{Arrival, Window};
use crate::wire::common::{RaftClientReplyProto, RaftClientRequestProto};

/// Maximum number of requests in progress per stream; further ones wait at the socket.
const MOST_UNDER_WAY: usize = 256;

/// Maximum bytes of requests that wait for an earlier one.
const MOST_WAITING_BYTES: usize = 2 * MAX_MESSAGE;

/// Answers the requests of a stream.
pub(super) fn answer(
    calls: Arc<Calls>,
    requests: impl Stream<Item = Result<RaftClientRequestProto, Status>> + Send + Unpin + 'static,
) -> impl Stream<Item = Result<RaftClientReplyProto, Status>> + Send {
    let (sender, receiver) = mpsc::channel(MOST_UNDER_WAY);
    tokio::spawn(async move {
        if let Err(End::Failed(status)) = receive(&calls, requests, &sender).await {
            tracing::debug!(%status, "stream of ordered requests ended");
            let _ = sender.send(std::future::ready(Err(status)).boxed()).await;
        }
    });
    ReceiverStream::new(receiver).then(|reply: Reply| reply)
}

/// Reasons why a stream ends before the client ends it.
enum End {
    /// The client receives no more replies.
    Gone,
    /// An error that is sent to the client.
    Failed(Status),
}

impl From<Status> for End {
    fn from(status: Status) -> Self {
        Self::Failed(status)
    }
}

async fn receive(
    calls: &Arc<Calls>,
    mut requests: impl Stream<Item = Result<RaftClientRequestProto, Status>> + Unpin,
    replies: &mpsc::Sender<Reply>,
) -> Result<(), End> {
    let mut window = Window::new(MOST_WAITING_BYTES);
    let mut bound: Option<GroupId> = None;
    loop {
        let message = tokio::select! {
            message = requests.next() => message,
            () = replies.closed() => return Err(End::Gone),
        };
        // The client has ended its side; its requests are still answered.
        let Some(message) = message else { return Ok(()) };
        let request = Request::from_wire(message.map_err(|_| End::Gone)?).map_err(nonsense)?;
        let group = request.key.group;
        if *bound.get_or_insert(group) != group {
            return Err(nonsense(Refusal::GroupMismatch(group)).into());
        }
        let Some(position) = request.position else {
            let refusal = Refusal::Invalid("an ordered request has no sequence number".to_owned());
            return Err(nonsense(refusal).into());
        };
        let size = request.size();
        if window.arrive(position, request, size) == Arrival::Full {
            let refusal =
                Refusal::Busy("too many requests arrived before their predecessors".to_owned());
            return Err(nonsense(refusal).into());
        }
        while let Some(request) = window.next() {
            let reply = calls.begin(request).await;
            replies.send(reply).await.map_err(|_| End::Gone)?;
        }
    }
}
