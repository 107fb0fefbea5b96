//! Processing of one request, from its message to its reply.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tonic::Status;

use crate::group::{Done, Group, Refusal, Server};
use crate::ids::{CallKey, PeerId};
use crate::level::Level;
use crate::reply::Replies;
use crate::request::{Kind, Request};
use crate::retry::{Claim, Retries};
use crate::wire::common::RaftClientReplyProto;
use crate::{reply, watch};

/// A future reply, or the end of its stream.
pub(crate) type Reply = BoxFuture<'static, Result<RaftClientReplyProto, Status>>;

/// Processes requests.
pub(crate) struct Calls {
    pub server: Arc<dyn Server>,
    me: PeerId,
    retries: Retries,
}

impl Calls {
    pub fn new(server: Arc<dyn Server>) -> Arc<Self> {
        Arc::new(Self { me: server.me(), server, retries: Retries::new() })
    }

    /// Starts a request: on completion a write has its place in the order, and only the returned
    /// reply remains to be awaited.
    pub async fn begin(&self, request: Request) -> Reply {
        let key = request.key;
        self.retries.forget(key, &request.answered);
        let group = match self.server.group(key.group) {
            Ok(group) => group,
            Err(refusal) => return std::future::ready(self.end(key, refusal)).boxed(),
        };
        let replies = Replies { key, me: self.me.clone() };
        match request.kind {
            Kind::Write(content) => match self.retries.claim(key) {
                Claim::Known(outcome) => finish(replies, group, outcome).boxed(),
                Claim::New(sender, outcome) => {
                    match group.clone().write(content, request.timeout).await {
                        // Continues even if no caller waits for it any more.
                        Ok(answer) => _ = tokio::spawn(answer.map(|outcome| sender.send(outcome))),
                        Err(refusal) => _ = sender.send(Err(refusal)),
                    }
                    finish(replies, group, outcome).boxed()
                }
            },
            Kind::Read(content) => finish(replies, group.clone(), async move {
                group.check_leader()?;
                let message = group.clone().read(content).await?;
                let index = Level::Majority.index(&group.progress());
                Ok(Done { index, message })
            })
            .boxed(),
            Kind::Watch { index, level } => {
                let limit = self.server.watch_timeout();
                async move {
                    match watch::wait(&group, index, level, limit).await {
                        Ok(progress) => {
                            let reached = level.index(&progress);
                            let done = Done { index: reached, message: Default::default() };
                            Ok(replies.done(done, &progress))
                        }
                        Err(refusal) => replies.refused(refusal, &group.progress()),
                    }
                }
                .boxed()
            }
            Kind::Other(kind) => {
                std::future::ready(self.end(key, Refusal::Unsupported(kind))).boxed()
            }
        }
    }

    fn end(&self, key: CallKey, refusal: Refusal) -> Result<RaftClientReplyProto, Status> {
        tracing::debug!(group = %key.group, client = %key.client, %refusal, "request refused");
        Replies { key, me: self.me.clone() }.refused(refusal, &[])
    }
}

/// Builds the reply once there is an outcome, with the members' log positions at that time.
async fn finish(
    replies: Replies,
    group: Arc<dyn Group>,
    outcome: impl Future<Output = Result<Done, Refusal>> + Send,
) -> Result<RaftClientReplyProto, Status> {
    match outcome.await {
        Ok(done) => Ok(replies.done(done, &group.progress())),
        Err(refusal) => replies.refused(refusal, &group.progress()),
    }
}

/// The error for a malformed request.
pub(crate) fn nonsense(refusal: Refusal) -> Status {
    reply::status(&refusal)
}
