//! A stream whose requests are carried out, and answered, in the order of their numbers.

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

/// Requests that have their place and wait for their answer; what comes then waits at the socket.
const MOST_UNDER_WAY: usize = 256;

/// Bytes of requests that may wait for one that comes before them.
const MOST_WAITING_BYTES: usize = 2 * MAX_MESSAGE;

/// Answers the requests of a stream.
pub(super) fn answer(
    calls: Arc<Calls>,
    requests: impl Stream<Item = Result<RaftClientRequestProto, Status>> + Send + Unpin + 'static,
) -> impl Stream<Item = Result<RaftClientReplyProto, Status>> + Send {
    let (sender, receiver) = mpsc::channel(MOST_UNDER_WAY);
    tokio::spawn(async move {
        if let Err(End::Failed(status)) = receive(&calls, requests, &sender).await {
            tracing::debug!(%status, "a stream of ordered requests ends");
            let _ = sender.send(std::future::ready(Err(status)).boxed()).await;
        }
    });
    ReceiverStream::new(receiver).then(|reply: Reply| reply)
}

/// Why a stream ends before the client ends it.
enum End {
    /// No caller waits for answers any more.
    Gone,
    /// For a reason that the client is told.
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
        // The client has said all it had to; what it asked is still answered.
        let Some(message) = message else { return Ok(()) };
        let request = Request::from_wire(message.map_err(|_| End::Gone)?).map_err(nonsense)?;
        let group = request.key.group;
        if *bound.get_or_insert(group) != group {
            return Err(nonsense(Refusal::GroupMismatch(group)).into());
        }
        let Some(position) = request.position else {
            let refusal = Refusal::Invalid("an ordered request has no place".to_owned());
            return Err(nonsense(refusal).into());
        };
        let size = request.size();
        if window.arrive(position, request, size) == Arrival::Full {
            let refusal = Refusal::Busy("too many requests came before their turn".to_owned());
            return Err(nonsense(refusal).into());
        }
        while let Some(request) = window.next() {
            let reply = calls.begin(request).await;
            replies.send(reply).await.map_err(|_| End::Gone)?;
        }
    }
}
