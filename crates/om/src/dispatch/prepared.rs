//! Requests to an OM that is or will be prepared for another version.

use bytes::Bytes;
use framed::Status;
use proto::ozone::prepare_status_response::PrepareStatus;
use proto::ozone::{OmRequest, OmResponse, PrepareStatusResponse, Status as OmStatus};

use super::outcome::refusal;
use super::{Dispatcher, unsupported};

impl Dispatcher {
    /// Entry at which OM is prepared.
    pub(super) fn prepared(&self) -> Option<u64> {
        *self.parts.prepared.borrow()
    }

    /// The refusal of a write while OM is prepared.
    pub(super) fn refuse_prepared(&self, request: &OmRequest) -> Option<Bytes> {
        self.prepared().filter(|_| !namespace::allowed_when_prepared(request))?;
        let message = namespace::prepared_refusal(request);
        let status = OmStatus::NotSupportedOperationWhenPrepared;
        Some(refusal(request.cmd_type, request.trace_id.clone(), status, message))
    }

    /// Progress of the preparation of this OM; any OM answers for itself.
    pub(super) async fn prepare_status(&self, request: &OmRequest) -> Result<Bytes, Status> {
        let group = &self.parts.group;
        let prepared = self.prepared();
        let status = match prepared {
            None => PrepareStatus::NotPrepared,
            Some(index) => {
                let stopped = || Status::unavailable("the raft group is stopped");
                let first = group.status().await.ok_or_else(stopped)?.first_index;
                match first > index {
                    true => PrepareStatus::PrepareCompleted,
                    false => PrepareStatus::PrepareGateEnabled,
                }
            }
        };
        let answer = PrepareStatusResponse {
            status: status as i32,
            current_txn_index: Some(prepared.unwrap_or(group.applied())),
        };
        Ok(unsupported::encoded(&OmResponse {
            cmd_type: request.cmd_type,
            trace_id: request.trace_id.clone(),
            success: Some(true),
            status: OmStatus::Ok as i32,
            prepare_status_response: Some(Box::new(answer)),
            ..OmResponse::default()
        }))
    }
}
