//! Processing of a call: limit of calls in progress, deadline, retries.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Instant;

use limits::FairPermit;
use tokio::time::timeout_at;

use super::answers::{Answers, Due};
use super::{Answer, AnswerFuture, Call, Shared, Work};
use crate::fault::Fault;
use crate::incoming::CallId;
use crate::retry::{Key, Known, Ticket};

/// The permit to execute a call.
type Permit = FairPermit<Arc<str>>;

/// A received call.
pub(super) struct Request {
    pub(super) id: CallId,
    /// The protocol version of the client.
    pub(super) version: u64,
    pub(super) call: Call,
}

/// Processes a call. Returns when the next one may be read: waiting here is back-pressure on all
/// connections that share the limit.
pub(super) async fn dispatch(request: Request, shared: &Arc<Shared>, answers: &Arc<Answers>) {
    let Request { id, version, call } = request;
    let due = Due::new(answers, id);
    match shared.service.version(&call.protocol) {
        Some(served) if served == version => {}
        Some(served) => {
            let fault = Fault::version_mismatch(&call.protocol, version, served);
            return due.send(Err(fault));
        }
        None => return due.send(Err(Fault::no_such_protocol(&call.protocol))),
    }
    let (deadline, user) = (call.deadline, Arc::clone(&call.user));
    match shared.service.call(call) {
        Work::Repeatable(work) => repeatable(work, due, deadline, &user, shared).await,
        Work::Once(work) => once(work, due, deadline, &user, shared).await,
    }
}

async fn repeatable(
    mut work: AnswerFuture,
    due: Due,
    deadline: Instant,
    user: &Arc<str>,
    shared: &Arc<Shared>,
) {
    let mut poll = |cx: &mut Context<'_>| shared.unless_stopped(|| work.as_mut().poll(cx));
    match std::future::poll_fn(|cx| Poll::Ready(poll(cx))).await {
        Some(Poll::Pending) => {}
        Some(Poll::Ready(answer)) => return due.send(answer),
        None => return due.send(Err(stopped())),
    }
    let permit = match permit(user, shared).await {
        Ok(permit) => permit,
        Err(fault) => return due.send(Err(fault)),
    };
    tokio::spawn(async move {
        let answer = timeout_at(deadline.into(), work).await;
        due.send(answer.unwrap_or_else(|_| Err(too_long())));
        drop(permit);
    });
}

async fn once(
    work: AnswerFuture,
    due: Due,
    deadline: Instant,
    user: &Arc<str>,
    shared: &Arc<Shared>,
) {
    // The permit first: a call recorded as running must have one, because others may wait for it.
    let permit = match permit(user, shared).await {
        Ok(permit) => permit,
        Err(fault) => return due.send(Err(fault)),
    };
    let known = key(due.id()).map(|key| shared.retry.begin(key, Instant::now()));
    match known {
        None => {
            tokio::spawn(first(work, due, deadline, None, permit));
        }
        Some(Known::First(ticket)) => {
            tokio::spawn(first(work, due, deadline, Some(ticket), permit));
        }
        Some(Known::Answered(answer)) => {
            shared.stats.repeated.fetch_add(1, Ordering::Relaxed);
            due.send(Ok(answer));
        }
        Some(Known::Running(ended)) => {
            shared.stats.repeated.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                due.send(match timeout_at(deadline.into(), ended).await {
                    Ok(Ok(answer)) => answer,
                    Ok(Err(_)) => Err(Fault::busy("the first attempt of the call was aborted")),
                    Err(_) => Err(too_long()),
                });
                drop(permit);
            });
        }
    }
}

/// Executes a call to completion. Its client waits at most until the deadline.
async fn first(
    mut work: AnswerFuture,
    due: Due,
    deadline: Instant,
    ticket: Option<Ticket>,
    permit: Permit,
) {
    let end = |answer: &Answer| {
        if let Some(ticket) = ticket {
            ticket.end(answer, Instant::now());
        }
    };
    match timeout_at(deadline.into(), &mut work).await {
        Ok(answer) => {
            end(&answer);
            due.send(answer);
        }
        Err(_) => {
            due.send(Err(too_long()));
            end(&work.await);
        }
    }
    drop(permit);
}

/// Acquires a permit, if one is available in time. A shutdown waits for the calls that hold one:
/// once it has begun no call gets one, and waiting calls are refused.
async fn permit(user: &Arc<str>, shared: &Arc<Shared>) -> Result<Permit, Fault> {
    let mut stop = shared.stop.subscribe();
    let permit = shared.in_flight.acquire_within(user, 1, shared.options.queue_timeout);
    let permit = tokio::select! {
        biased;
        _ = stop.wait_for(|s| *s) => return Err(stopped()),
        permit = permit => permit,
    };
    match permit {
        // The shutdown may have begun in the meantime, and have found no permit in use.
        Some(permit) => shared.unless_stopped(|| permit).ok_or_else(stopped),
        None => {
            shared.stats.refused.fetch_add(1, Ordering::Relaxed);
            Err(too_many())
        }
    }
}

/// The key of a call; `None` for a client without an id, which does not retry.
fn key(id: &CallId) -> Option<Key> {
    let client: [u8; 16] = id.client.as_ref().try_into().ok()?;
    Some(Key { client, call: id.number })
}

fn too_many() -> Fault {
    Fault::busy("too many calls in progress, retry later")
}

fn stopped() -> Fault {
    Fault::busy("the server is stopping and has not begun the call, retry or use another server")
}

fn too_long() -> Fault {
    Fault::busy("the call takes too long, retry later")
}
