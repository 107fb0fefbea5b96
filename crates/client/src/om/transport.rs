//! Choice of the OM for a call, retries and timeouts: failover, backoff, deadline.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use framed::{CallError, Code, Status};
use futures::FutureExt;
use parking_lot::RwLock;
use prost::Message;
use proto::method;
use proto::om_admin::OmStateResponse;
use rand::RngExt;
use tokio::time::Instant;

use super::anywhere::{Nearest, Seen};
use super::displaced::Displaced;
use crate::{Error, Result};

/// First pause between attempts; doubled each time up to the configured maximum.
const FIRST_BACKOFF: Duration = Duration::from_millis(20);

/// Maximum pause while there is no leader: elections take about a second, and frequent retries
/// shorten the wait.
const ELECTION_BACKOFF: Duration = Duration::from_millis(200);
/// Timeout of the first attempt on one of several servers while no other is known to lead: it may
/// hang, and the others may be temporarily unreachable. The timeout doubles for each further
/// attempt, for requests that take long.
const FIRST_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(4);

/// Timeout of a state query.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeout of a state query while a call waits for it.
const URGENT_PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of servers of a service, including those learned from responses.
const MOST_TARGETS: usize = 16;

/// The servers of one service, one of which is the leader.
#[derive(Clone)]
pub(crate) struct Transport {
    inner: Arc<Inner>,
}

struct Inner {
    service: &'static str,
    /// Name of a call among the stages of a request.
    stage: &'static str,
    method: u16,
    /// The configured servers, and the leader named by one of them, since the servers of a service
    /// change.
    targets: RwLock<Vec<Arc<Target>>>,
    options: framed::ClientOptions,
    /// The target of the last response.
    current: AtomicUsize,
    attempt_timeout: Duration,
    deadline: Duration,
    max_backoff: Duration,
    anywhere: Option<Anywhere>,
    displaced: Displaced,
}

/// Reads from any server.
struct Anywhere {
    nearest: Nearest,
    interval: Duration,
    /// Set once a call has started the probes.
    probing: AtomicBool,
}

struct Target {
    address: String,
    client: framed::Client,
}

/// A response, and the circumstances of the call.
pub(crate) struct Answer {
    pub(crate) bytes: Bytes,
    /// An earlier attempt may have been executed although its response was lost: an error such as
    /// "does not exist" for a deletion can then mean success.
    pub(crate) repeated: bool,
}

/// Action after a failed attempt.
enum Next {
    /// Try another server; the failed attempt had no effect.
    Elsewhere,
    /// Try this server.
    Hinted(usize),
    /// Try another server; the failed attempt may have had an effect.
    Unsure,
    /// Retry on the same server a little later.
    Later,
    /// A retry is useless.
    GiveUp(Error),
}

/// Limits of the number and time of attempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryPolicy {
    pub(crate) connect_timeout: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) max_backoff: Duration,
}

/// State of one server, and its response time.
pub(crate) type State = (OmStateResponse, Duration);

impl Transport {
    /// A transport for OMs; with `anywhere` (the maximum lag in log entries, and the probe
    /// interval) any of them may serve reads.
    pub(crate) fn om(
        addresses: &[String],
        policy: RetryPolicy,
        anywhere: Option<(u64, Duration)>,
    ) -> Self {
        let anywhere = anywhere.map(|(max_lag, interval)| Anywhere {
            nearest: Nearest::new(addresses.len(), max_lag),
            interval,
            probing: AtomicBool::new(false),
        });
        Self::new("om", method::OM, addresses, policy, anywhere)
    }

    /// Queries the state of each server in parallel.
    pub(crate) async fn states(&self) -> Vec<(String, Result<State>)> {
        let asked = self.inner.all().into_iter().map(async |target| {
            let state = self.inner.state(&target, PROBE_TIMEOUT).await;
            (target.address.clone(), state)
        });
        futures::future::join_all(asked).await
    }

    /// Sends a read that any server may serve: to the nearest one, the next after a failure, and
    /// finally the leader.
    pub(crate) async fn call_anywhere(&self, request: Bytes) -> Result<Answer> {
        let inner = &*self.inner;
        let Some(anywhere) = &inner.anywhere else { return self.call(request).await };
        if !anywhere.probing.swap(true, Ordering::AcqRel) {
            inner.probe(anywhere).await;
            tokio::spawn(probe_on(Arc::downgrade(&self.inner), anywhere.interval));
        }
        let mut tried = Vec::new();
        while let Some(picked) = anywhere.nearest.pick(&tried) {
            let Some(target) = inner.target(picked) else { break };
            let timeout = FIRST_ATTEMPT_TIMEOUT.min(inner.attempt_timeout);
            let call = target.client.call(inner.method, request.clone(), Bytes::new(), timeout);
            let began = Instant::now();
            match call.await {
                Ok(reply) => {
                    anywhere.nearest.took(picked, began.elapsed());
                    return Ok(Answer { bytes: reply.header, repeated: false });
                }
                Err(error) => {
                    tracing::debug!(om = target.address, %error, "OM failed read");
                    if error.status().is_none_or(|s| s.code != Code::NotLeader) {
                        anywhere.nearest.note(picked, None);
                    }
                    tried.push(picked);
                }
            }
        }
        self.call(request).await
    }

    /// A transport for administrative requests to OMs.
    pub(crate) fn om_admin(addresses: &[String], policy: RetryPolicy) -> Self {
        Self::new("om", method::OM_ADMIN, addresses, policy, None)
    }

    pub(crate) fn scm(addresses: &[String], policy: RetryPolicy) -> Self {
        Self::new("scm", method::SCM_CONTAINER_LOCATION, addresses, policy, None)
    }

    /// A transport for block requests to SCMs.
    pub(crate) fn scm_block(addresses: &[String], policy: RetryPolicy) -> Self {
        Self::new("scm", method::SCM_BLOCK, addresses, policy, None)
    }

    fn new(
        service: &'static str,
        method: u16,
        addresses: &[String],
        policy: RetryPolicy,
        anywhere: Option<Anywhere>,
    ) -> Self {
        let options =
            framed::ClientOptions { connect_timeout: policy.connect_timeout, ..Default::default() };
        let targets = addresses
            .iter()
            .map(|address| Arc::new(Target::new(address.clone(), &options)))
            .collect();
        let targets = RwLock::new(targets);
        let inner = Inner {
            service,
            stage: if service == "om" { "call om" } else { "call scm" },
            method,
            targets,
            options,
            current: AtomicUsize::new(0),
            attempt_timeout: policy.attempt_timeout,
            deadline: policy.deadline,
            max_backoff: policy.max_backoff,
            anywhere,
            displaced: Displaced::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Sends one request until an OM responds.
    pub(crate) async fn call(&self, request: Bytes) -> Result<Answer> {
        telemetry::stage(self.inner.stage, self.call_until_answered(request)).await
    }

    async fn call_until_answered(&self, request: Bytes) -> Result<Answer> {
        let inner = &*self.inner;
        let started = Instant::now();
        let deadline = started + inner.deadline;
        let mut current = inner.current.load(Ordering::Relaxed);
        let mut repeated = false;
        let mut backoff = FIRST_BACKOFF;
        let mut tried_without_pause = 0;
        // Only OM recognizes retried calls.
        let careful = inner.count() > 1 && inner.method == method::OM;
        let mut answer_timeout =
            if careful { FIRST_ATTEMPT_TIMEOUT } else { inner.attempt_timeout };
        loop {
            let count = inner.count().max(1);
            let Some(target) = inner.target(current % count) else {
                return Err(inner.unavailable("no address is configured"));
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = answer_timeout.min(inner.attempt_timeout).min(left);
            let call = target.client.call(inner.method, request.clone(), Bytes::new(), timeout);
            let at = current % count;
            let answer = tokio::select! {
                answer = call => answer,
                leader = inner.displaced(at), if careful => {
                    tracing::debug!(om = target.address, "OM hangs, switching to new leader");
                    repeated = true;
                    current = leader;
                    continue;
                }
            };
            let error = match answer {
                Ok(reply) => {
                    if count > 1 {
                        inner.current.store(current % count, Ordering::Relaxed);
                    }
                    return Ok(Answer { bytes: reply.header, repeated });
                }
                Err(error) => error,
            };
            if matches!(error, CallError::Timeout { .. }) {
                answer_timeout *= 2;
            }
            let mut longest = inner.max_backoff;
            let election = if count > 1 { ELECTION_BACKOFF } else { longest };
            let pause = match inner.next(&error, current % count, timeout) {
                Next::GiveUp(error) => return Err(error),
                Next::Later => true,
                Next::Hinted(target) => {
                    longest = longest.min(election);
                    current = target;
                    tried_without_pause += 1;
                    tried_without_pause > count
                }
                Next::Elsewhere => {
                    longest = longest.min(election);
                    current += 1;
                    tried_without_pause += 1;
                    tried_without_pause >= count
                }
                Next::Unsure => {
                    longest = longest.min(election);
                    repeated = true;
                    current += 1;
                    tried_without_pause += 1;
                    tried_without_pause >= count
                }
            };
            if Instant::now() >= deadline {
                return Err(inner.exhausted(&target.address, error, started.elapsed()));
            }
            if pause {
                tried_without_pause = 0;
                backoff = backoff.min(longest);
                let jitter = rand::rng().random_range(0.75..1.25);
                let until = Instant::now() + backoff.mul_f64(jitter);
                tokio::time::sleep_until(until.min(deadline)).await;
                backoff = (backoff * 2).min(longest).max(FIRST_BACKOFF);
            }
        }
    }
}

/// Probes repeatedly while the transport exists.
async fn probe_on(inner: Weak<Inner>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        let Some(inner) = inner.upgrade() else { return };
        let Some(anywhere) = &inner.anywhere else { return };
        inner.probe(anywhere).await;
    }
}

impl Target {
    fn new(address: String, options: &framed::ClientOptions) -> Self {
        Self { client: framed::Client::new(address.clone(), options.clone()), address }
    }
}

impl Inner {
    fn count(&self) -> usize {
        self.targets.read().len()
    }

    fn target(&self, n: usize) -> Option<Arc<Target>> {
        self.targets.read().get(n).cloned()
    }

    fn all(&self) -> Vec<Arc<Target>> {
        self.targets.read().clone()
    }

    /// Index of the server at an address; an unknown one is added.
    fn position(&self, address: &str) -> Option<usize> {
        let mut targets = self.targets.write();
        if let Some(known) = targets.iter().position(|target| target.address == address) {
            return Some(known);
        }
        if targets.len() >= MOST_TARGETS || !address.contains(':') {
            return None;
        }
        tracing::info!(service = self.service, address, "leader is not in the configuration");
        targets.push(Arc::new(Target::new(address.to_owned(), &self.options)));
        Some(targets.len() - 1)
    }

    /// Queries the log position of every server; the response time is measured with a second query,
    /// so that it does not include connecting.
    async fn probe(&self, anywhere: &Anywhere) {
        let probes = self.all().into_iter().enumerate().map(async |(n, target)| {
            let answered = match self.state(&target, PROBE_TIMEOUT).await {
                Ok(_) => self.state(&target, PROBE_TIMEOUT).await,
                Err(e) => Err(e),
            };
            let seen = answered.ok().map(|(s, latency)| Seen { latency, applied: s.applied });
            anywhere.nearest.note(n, seen);
        });
        futures::future::join_all(probes).await;
    }

    /// Waits until another server than this one is the leader.
    async fn displaced(&self, current: usize) -> usize {
        let all = self.all();
        let ask = |n: usize| {
            let state = self.state(&all[n], URGENT_PROBE_TIMEOUT);
            state.map(|state| state.ok().map(|(state, _)| state)).boxed()
        };
        self.displaced.by(current, all.len(), ask).await
    }

    async fn state(&self, target: &Target, timeout: Duration) -> Result<State> {
        let asked = Instant::now();
        let timeout = timeout.min(self.attempt_timeout);
        let call = target.client.call(method::OM_STATE, Bytes::new(), Bytes::new(), timeout);
        let answer = match call.await {
            Ok(reply) => reply.header,
            Err(error) => return Err(self.exhausted(&target.address, error, asked.elapsed())),
        };
        let state = OmStateResponse::decode(answer)
            .map_err(|e| Error::protocol(self.service, e.to_string()))?;
        Ok((state, asked.elapsed()))
    }

    fn next(&self, error: &CallError, current: usize, timeout: Duration) -> Next {
        match error {
            CallError::Status { status, .. } => match status.code {
                Code::NotLeader => match status.hint().and_then(|hint| self.position(hint)) {
                    Some(target) => Next::Hinted(target),
                    None => Next::Elsewhere,
                },
                Code::Unavailable => Next::Unsure,
                Code::Busy => Next::Later,
                Code::NotReady => Next::Hinted(current),
                Code::DeadlineExceeded => Next::GiveUp(Error::Timeout {
                    service: self.service.to_owned(),
                    waited: timeout,
                }),
                _ => Next::GiveUp(self.refused(status)),
            },
            CallError::Transport { sent: false, .. } => Next::Elsewhere,
            CallError::Transport { .. } | CallError::Timeout { .. } => Next::Unsure,
            CallError::Decode { reason, .. } => {
                Next::GiveUp(Error::protocol(self.service, reason.as_str()))
            }
        }
    }

    fn refused(&self, status: &Status) -> Error {
        use crate::ErrorKind;
        let kind = match status.code {
            Code::Invalid => ErrorKind::Invalid,
            Code::NotFound => ErrorKind::NotFound,
            Code::Unimplemented => ErrorKind::Unsupported,
            _ => ErrorKind::Internal,
        };
        if self.method == method::SCM_CONTAINER_LOCATION {
            Error::Scm { kind, message: status.message.clone() }
        } else {
            Error::protocol(self.service, status.to_string())
        }
    }

    fn exhausted(&self, address: &str, error: CallError, waited: Duration) -> Error {
        match error {
            CallError::Timeout { .. } => {
                Error::Timeout { service: self.service.to_owned(), waited }
            }
            other => Error::Unavailable {
                service: format!("{} at {address}", self.service),
                message: other.status().map_or_else(|| other.to_string(), Status::to_string),
            },
        }
    }

    fn unavailable(&self, message: &str) -> Error {
        Error::Unavailable { service: self.service.to_owned(), message: message.to_owned() }
    }
}
