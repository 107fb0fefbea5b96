//! Progress of deletions on this DataNode: `o3 admin deletion status`.

use std::sync::Arc;

use framed::message::{decode, reply};
use framed::{Call, Code, Reply, Status};
use proto::deletion_status::DeletionStatusRequest;
use service::Right;

use crate::daemon::Daemon;
use crate::status::deletion;

/// Responds to a request.
///
/// # Errors
/// When the request does not decode, the user lacks the right, or a disk cannot be read.
pub(super) async fn answer(daemon: Arc<Daemon>, call: Call) -> Result<Reply, Status> {
    let request: DeletionStatusRequest = decode(call.header)?;
    daemon
        .access
        .check(Right::ReadOnlyAdmin, Some(&request.user))
        .map_err(|denied| Status::invalid(denied.to_string()))?;
    let status = deletion::status(&daemon).await;
    status.map(|status| reply(&status)).map_err(|e| Status::new(Code::Internal, e.to_string()))
}
