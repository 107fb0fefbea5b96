//! The one dispatcher for requests of all endpoints and protocols.
//!
//! A request is admitted (bounded, deadline), then takes one of three ways: a **read** is
//! answered from the tables on the connection's task; a **write** is decided by the leader,
//! proposed, and answered by the state machine ([`write`]); a request about the server itself is
//! answered by [`server`]. Reads never wait for writes. A refusal by the rules is an answer; only a
//! failure of this OM to answer at all is a [`Status`].

mod admission;
mod audit;
mod consistency;
mod diff_jobs;
mod lead;
mod leader_ids;
mod locate;
mod members;
mod outcome;
mod parts;
mod prepared;
mod quota_repair;
mod quota_repairs;
mod read;
mod server;
mod snapshot_diff;
mod timer;
mod unsupported;
mod updates;
mod write;

use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use framed::{Code, Status};
use limits::{Asks, Identity};
use namespace::Route;
use prost::Message;
use proto::ozone::{OmRequest, OmResponse, Type};
use service::{RpcMethod, StagesOfVerb};

pub(crate) use admission::{Admission, Limits, OwnWork};
pub(crate) use diff_jobs::{DiffJobs, DiffOptions};
pub(crate) use leader_ids::LeaderIds;
pub(crate) use members::NotChanged;
pub(crate) use outcome::Outcome;
pub(crate) use parts::{DispatcherParts, LocalReads, ServerFacts};
pub(crate) use timer::STAGES;

use admission::Place;
use quota_repairs::QuotaRepairs;
use timer::{Stage, Timer};

use crate::state::{CallKey, Tables};

/// Most command numbers of the protocol, for the table of metrics.
const COMMANDS: usize = 256;

/// The caller, as the endpoint saw it.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Address that the request came from.
    pub(crate) ip: IpAddr,
    /// The user of the connection, where a protocol names one for all requests.
    pub(crate) user: Option<Arc<str>>,
    /// Identity of the call, if the protocol retries calls under the same number.
    pub(crate) call: Option<CallKey>,
    /// When it was received.
    pub(crate) received: Instant,
    /// Deadline of the client.
    pub(crate) deadline: Option<Instant>,
    /// It is OM itself.
    pub(crate) is_om: bool,
}

impl Caller {
    /// OM itself.
    pub(crate) fn internal() -> Self {
        Self {
            ip: IpAddr::from([127, 0, 0, 1]),
            user: None,
            call: None,
            received: Instant::now(),
            deadline: None,
            is_om: true,
        }
    }
}

/// The dispatcher.
pub(crate) struct Dispatcher {
    parts: DispatcherParts,
    ids: LeaderIds,
    repairs: QuotaRepairs,
    diffs: DiffJobs,
    verbs: Vec<OnceLock<Verb>>,
}

/// A request, decoded in place: each `async fn` on its way would move it, or keep it twice.
///
/// # Errors
/// The bytes are no `OMRequest`.
pub(crate) fn decode(encoded: Bytes) -> Result<Box<OmRequest>, Status> {
    let mut request = Box::<OmRequest>::default();
    match request.merge(encoded) {
        Ok(()) => Ok(request),
        Err(e) => Err(Status::invalid(format!("OMRequest does not decode: {e}"))),
    }
}

/// Metrics of a command.
struct Verb {
    calls: RpcMethod,
    stages: StagesOfVerb,
}

impl Dispatcher {
    pub(crate) fn new(parts: DispatcherParts, diffs: DiffOptions) -> Arc<Self> {
        let verbs = std::iter::repeat_with(OnceLock::new).take(COMMANDS).collect();
        let (ids, repairs) = (LeaderIds::default(), QuotaRepairs::default());
        let diffs = DiffJobs::new(diffs);
        Arc::new(Self { parts, ids, repairs, diffs, verbs })
    }

    /// Answers a request with the encoded answer.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        mut request: Box<OmRequest>,
        caller: Caller,
    ) -> Result<Bytes, Status> {
        let command = Type::try_from(request.cmd_type).unwrap_or(Type::UnknownCommand);
        let name = command.as_str_name();
        let mut timer = Timer::new(caller.received);
        if caller.is_om {
            let work = Box::pin(self.carry_out(request, caller, &mut timer));
            return telemetry::stage(name, work).await;
        }
        // Otherwise it would be in the log and in stored answers.
        request.trace_id.take_if(|id| id.len() > telemetry::MAX_TRACE_ID);
        let trace_id = request.trace_id.as_deref();
        let mut span = self.parts.edge.request(name, trace_id, caller.received);
        let answer = span.run(pin!(self.carry_out(request, caller, &mut timer))).await;
        if let Some(at) = timer.finished_at() {
            span.end_at(at);
        }
        answer
    }

    async fn carry_out(
        self: &Arc<Self>,
        request: Box<OmRequest>,
        caller: Caller,
        timer: &mut Timer,
    ) -> Result<Bytes, Status> {
        let verb = self.verb(request.cmd_type);
        let mut call = verb.calls.call(timer.received());
        let route = namespace::route(&request);
        let user = self.identify(&request, &caller);
        let admitted = self.admit(route, request.cmd_type, &user, &caller);
        let _place = telemetry::wait("admission", admitted).await?;
        let admitted_at = timer.end(Stage::Queue);
        call.started_at(admitted_at);
        if caller.deadline.is_some_and(|deadline| deadline <= admitted_at) {
            return Err(Status::new(Code::DeadlineExceeded, "the client gave up meanwhile"));
        }
        let wanted =
            self.parts.audit.is_enabled() && (route == Route::Write || self.parts.audit_reads);
        let note = wanted.then(|| audit::note(&request));
        let answer = match route {
            Route::Read => self.read(request, &user, &caller, timer).await,
            Route::Write if namespace::is_internal(request.cmd_type) && !caller.is_om => {
                let command = Type::try_from(request.cmd_type).unwrap_or(Type::UnknownCommand);
                let message = format!("{} is what OM does by itself", command.as_str_name());
                let status = proto::ozone::Status::PermissionDenied;
                Ok(outcome::refusal(request.cmd_type, request.trace_id, status, message))
            }
            // Boxed, since a read would otherwise be a future as large as that of a write.
            Route::Write => Box::pin(self.write(request, &user, &caller, timer)).await,
            Route::Server => Box::pin(self.about_server(*request, &user)).await,
            Route::Unsupported => Ok(unsupported::refuse(&request)),
        };
        // A read that succeeds ends its stages itself: the clock is on the way of each lookup.
        if note.is_none() && (route != Route::Read || answer.is_err()) {
            timer.end(Stage::Answer);
        }
        let outcome = match &answer {
            Ok(bytes) => Outcome::of(bytes),
            Err(_) => Outcome::failed(),
        };
        if let Some(note) = note {
            let failure = match &answer {
                Ok(_) if outcome.success => None,
                Ok(_) => Some(outcome.message.as_ref()),
                Err(status) => Some(status.message.as_str()),
            };
            note.log(&self.parts.audit, &user, caller.ip, failure);
            timer.end(Stage::Answer);
        }
        call.finish_at(outcome.success, timer.finish());
        verb.stages.record(timer.total(), timer.stages());
        if self.parts.edge.is_slow(timer.total()) {
            telemetry::break_down(|| timer.describe());
        }
        answer
    }

    async fn admit(
        &self,
        route: Route,
        command: i32,
        user: &str,
        caller: &Caller,
    ) -> Result<Place<'_>, Status> {
        match caller.is_om {
            true => self.parts.admission.enter_own().await,
            false => self.parts.admission.enter(route, self.asks(command, user, caller)).await,
        }
    }

    /// The requesting user, for the queues before the work.
    fn asks<'a>(&self, command: i32, user: &'a str, caller: &'a Caller) -> Asks<'a> {
        let of_connection = match self.parts.admission.identity() {
            Identity::Caller => None,
            Identity::Connection => caller.user.as_deref(),
        };
        Asks {
            user: of_connection.unwrap_or(user),
            verb: u16::try_from(command).unwrap_or(u16::MAX),
            received: caller.received,
            deadline: caller.deadline,
        }
    }

    /// A write of OM itself, such as a purge; its answer is decoded.
    pub(crate) async fn submit_own(
        self: &Arc<Self>,
        request: OmRequest,
    ) -> Result<OmResponse, Status> {
        let bytes = self.submit(Box::new(request), Caller::internal()).await?;
        OmResponse::decode(bytes).map_err(|e| Status::internal(format!("own answer: {e}")))
    }

    /// The tables; for background services.
    pub(crate) fn tables(&self) -> Result<Arc<Tables>, Status> {
        let closed = || Status::unavailable("the tables are being replaced, try again");
        self.parts.current.get().ok_or_else(closed)
    }

    /// Returns `true` if this replica leads and has applied all earlier commits: background
    /// services work there only.
    pub(crate) fn is_leader(&self) -> bool {
        let state = self.parts.group.leader();
        state.ready && state.leader == Some(self.parts.facts.members.me.raft_id)
    }

    /// Refuses requests that only the leader answers.
    fn leading(&self) -> Result<(), Status> {
        let state = self.parts.group.leader();
        if state.leader != Some(self.parts.facts.members.me.raft_id) {
            return Err(self.not_leader());
        }
        if !state.ready {
            let id = &self.parts.facts.members.me.node_id;
            let message = format!("OM:{id} is the leader but not ready to process requests yet");
            return Err(Status::new(Code::NotReady, message));
        }
        Ok(())
    }

    /// The answer of a follower.
    fn not_leader(&self) -> Status {
        let members = &self.parts.facts.members;
        let me = &members.me;
        let leader = self.parts.group.leader().leader.filter(|id| *id != me.raft_id);
        match leader.and_then(|id| members.by_raft_id(id)) {
            Some(leader) => {
                let (id, at) = (&leader.node_id, leader.rpc.connect());
                let suggested = format!("Suggested leader is OM:{id}[{}].", at.host);
                let message = format!("OM:{} is not the leader. {suggested}", me.node_id);
                Status::not_leader(message, at.to_string())
            }
            None => {
                let message = "is not the leader. Could not determine the leader node.";
                Status::not_leader(format!("OM:{} {message}", me.node_id), "")
            }
        }
    }

    pub(crate) fn parts(&self) -> &DispatcherParts {
        &self.parts
    }

    fn verb(&self, cmd_type: i32) -> &Verb {
        let slot = usize::try_from(cmd_type).ok().and_then(|i| self.verbs.get(i));
        let slot = slot.unwrap_or(&self.verbs[0]);
        let name = Type::try_from(cmd_type).unwrap_or(Type::UnknownCommand).as_str_name();
        slot.get_or_init(|| Verb {
            calls: self.parts.rpc.method(name),
            stages: self.parts.stages.verb(name),
        })
    }

    /// The requesting user. With security off, the one that the request names: an S3 access id, or
    /// the user the client runs as. If the connection has the user, the request does not.
    fn identify(&self, request: &OmRequest, caller: &Caller) -> String {
        let s3 = request.s3_authentication.as_ref().and_then(|s| s.access_id.as_deref());
        let named = || request.user_info.as_ref().and_then(|u| u.user_name.as_deref());
        if s3.is_some()
            && self.parts.settings.authorization.enabled
            && s3 == self.parts.root_access_key.get().map(String::as_str)
        {
            return self.parts.default_user.clone();
        }
        match s3.or(caller.user.as_deref()).or_else(named) {
            Some(user) if !user.is_empty() => user.to_owned(),
            _ => self.parts.default_user.clone(),
        }
    }
}
