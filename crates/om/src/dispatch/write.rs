//! The way of a write: decide, find blocks, propose, answer.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use framed::{Code, Status};
use multiraft::ProposeError;
use namespace::{BlockDemand, OmError, PrepareContext, Prepared};
use prost::Message;
use proto::hdds;
use proto::ozone::{KeyLocation, OmRequest, OmResponse, Status as OmStatus, Type, UserInfo};

use super::locate::LocationWish;
use super::outcome::{Outcome, refusal};
use super::timer::{Stage, Timer};
use super::{Caller, Dispatcher};
use crate::ids::now_ms;
use crate::scm::{FreshBlock, ScmError};
use crate::state::{CallKey, WriteAnswer};

impl Dispatcher {
    /// Carries out a write. The answer comes from the state machine, encoded, once the write is
    /// durable and applied.
    pub(super) async fn write(
        self: &Arc<Self>,
        mut request: Box<OmRequest>,
        user: &str,
        caller: &Caller,
        timer: &mut Timer,
    ) -> Result<Bytes, Status> {
        let parts = &self.parts;
        self.leading()?;
        // Our own clients number their calls within the request.
        let named = || CallKey::of(request.rpc_client_id.as_ref(), request.rpc_call_id);
        let call = caller.call.or_else(named);
        if let Some(call) = call
            && let Some(answer) =
                self.tables()?.answered(call).map_err(|e| Status::internal(e.to_string()))?
        {
            return Box::pin(self.with_places(answer, caller)).await;
        }
        if let Some(refused) = self.refuse_prepared(&request) {
            self.still_led(parts.group.leader().term).await?;
            return Ok(refused);
        }
        (request.rpc_client_id, request.rpc_call_id) = match call {
            Some(call) => (Some(Bytes::copy_from_slice(&call.client)), Some(call.call)),
            None => (None, None),
        };
        let (cmd_type, trace_id) = (request.cmd_type, request.trace_id.clone());
        let remote = caller.ip.to_string();
        request.user_info = Some(Box::new(UserInfo {
            user_name: Some(user.to_owned()),
            host_name: Some(remote.clone()),
            remote_address: Some(remote),
        }));
        let term = parts.group.leader().term;
        let clock = self.authorization_clock();
        let decided =
            telemetry::stage_sync("prepare", || self.decide(*request, user, || clock.stop()))?;
        timer.end_read(clock.stopped());
        let Prepared { mut request, blocks: demand } = match decided {
            Ok(prepared) => prepared,
            Err(refused) => {
                self.still_led(term).await?;
                // The first attempt of a retried call may have been applied just now, and cause
                // this refusal.
                if let Some(call) = call
                    && let Some(answer) = self
                        .tables()?
                        .answered(call)
                        .map_err(|e| Status::internal(e.to_string()))?
                {
                    return Box::pin(self.with_places(answer, caller)).await;
                }
                let (status, message) = (refused.status(), refused.to_string());
                return Ok(refusal(cmd_type, trace_id, status, message));
            }
        };
        let mut blocks = Vec::new();
        if let Some(demand) = demand {
            let size = demand.size;
            let allocated =
                telemetry::wait("allocate blocks", Box::pin(self.allocate(demand))).await;
            timer.end(Stage::Scm);
            blocks = match allocated {
                Ok(blocks) => blocks,
                Err(e) => return Ok(refusal(cmd_type, trace_id, scm_status(&e), e.to_string())),
            };
            let locations = blocks.iter().map(|b| location(b, size)).collect();
            namespace::assign_blocks(&mut request, locations);
        }
        let proposed = self.propose(request, blocks).await;
        let answer = match proposed {
            Ok(answer) => answer,
            Err(status) => {
                timer.end(Stage::Replicate);
                return Err(status);
            }
        };
        timer.end_at(Stage::Replicate, answer.round.began);
        timer.end_at(Stage::Apply, answer.round.ended);
        if cmd_type == Type::RecoverLease as i32 || answer.repeated {
            return Box::pin(self.with_places(answer.response, caller)).await;
        }
        Ok(answer.response)
    }

    /// A refusal is an answer, and not one from the log: it must be based on all acknowledged
    /// writes, so this replica must have led until now.
    async fn still_led(&self, term: u64) -> Result<(), Status> {
        let group = &self.parts.group;
        if !group.holds_lease() {
            Box::pin(group.read_index()).await.map_err(|e| self.read_status(&e))?;
        }
        if group.leader().term == term { Ok(()) } else { Err(self.not_leader()) }
    }

    /// Adds the locations of blocks to an answer of the state machine, which has only containers.
    async fn with_places(&self, answer: Bytes, caller: &Caller) -> Result<Bytes, Status> {
        let mut response =
            OmResponse::decode(answer).map_err(|e| Status::internal(format!("own answer: {e}")))?;
        response.leader_om_node_id = Some(self.parts.facts.members.me.node_id.clone());
        if response.written_at.is_none() {
            // A cached answer has no log position; its position is not after this.
            response.written_at = Some(self.parts.group.applied());
        }
        let wish = LocationWish { refresh: false, sort: false };
        match self.locate(&mut response, wish, caller).await {
            Ok(()) => Ok(Bytes::from(response.encode_to_vec())),
            Err(refused) => Ok(refused),
        }
    }

    /// Carries out a prepared request of OM's own.
    ///
    /// # Errors
    /// When it is not applied here, or refused: the status has the reason.
    pub(crate) async fn propose_own(&self, request: OmRequest) -> Result<(), Status> {
        let answer = self.propose(request, Vec::new()).await?;
        match Outcome::of(&answer.response) {
            outcome if outcome.success => Ok(()),
            outcome => Err(Status::internal(outcome.message.into_owned())),
        }
    }

    async fn propose(
        &self,
        request: OmRequest,
        blocks: Vec<FreshBlock>,
    ) -> Result<WriteAnswer, Status> {
        let proposed = pin!(self.parts.group.propose(request, blocks));
        let applied = telemetry::stage("replicate", proposed).await;
        applied.map(|applied| applied.response).map_err(|e| self.propose_status(e))
    }

    fn decide(
        &self,
        request: OmRequest,
        user: &str,
        authorized: impl FnOnce(),
    ) -> Result<Result<Prepared, OmError>, Status> {
        let tables = self.tables()?;
        let groups = self.parts.groups.of(user);
        let context = PrepareContext {
            now_ms: now_ms(),
            view: &*tables,
            user,
            groups: &groups,
            settings: &self.parts.settings,
            fresh: &self.ids,
        };
        Ok(namespace::prepare_with(request, &context, authorized))
    }

    async fn allocate(&self, demand: BlockDemand) -> Result<Vec<FreshBlock>, ScmError> {
        let (count, kind) = (demand.count as usize, (demand.replication, demand.storage_types));
        match demand.exclude {
            Some(exclude) if !is_empty(&exclude) => {
                self.parts.pool.allocate_excluding(kind, count, exclude).await
            }
            _ => self.parts.pool.allocate(kind, count).await,
        }
    }

    fn propose_status(&self, e: ProposeError) -> Status {
        match e {
            ProposeError::NotLeader { .. } => self.not_leader(),
            ProposeError::Busy => Status::new(Code::Busy, e.to_string()),
            ProposeError::Dropped | ProposeError::Shutdown | ProposeError::Log(_) => {
                Status::unavailable(e.to_string())
            }
            ProposeError::Payload(_) | ProposeError::Failed(_) => Status::internal(e.to_string()),
        }
    }
}

fn is_empty(exclude: &hdds::ExcludeListProto) -> bool {
    exclude.datanodes.is_empty()
        && exclude.container_ids.is_empty()
        && exclude.pipeline_ids.is_empty()
}

fn location(block: &FreshBlock, size: u64) -> KeyLocation {
    KeyLocation {
        block_id: hdds::BlockId { container_block_id: block.id, ..hdds::BlockId::default() },
        offset: 0,
        length: size,
        ..KeyLocation::default()
    }
}

/// Status for a client if SCM gives no blocks.
fn scm_status(e: &ScmError) -> OmStatus {
    match e {
        ScmError::SafeMode(_) => OmStatus::ScmInSafeMode,
        // No pipeline has room: it may have in a while, which INTERNAL_ERROR would not say.
        ScmError::NoRoom(_) => OmStatus::ScmGetPipelineException,
        ScmError::Unreachable { .. } | ScmError::Refused(_) => OmStatus::InternalError,
    }
}
