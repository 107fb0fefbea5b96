//! Progress of deletions in this OM: `o3 admin deletion status`.

use std::sync::Arc;

use bytes::Bytes;
use framed::{Reply, Status};
use proto::deletion_status::DeletionStatusRequest;
use service::{AccessDenied, BackgroundServices};

use crate::dispatch::Dispatcher;
use crate::status::deletion;

/// Answers on the leader and on followers.
///
/// # Errors
/// When the request does not decode, the user lacks the right, or the tables cannot be read.
pub(super) async fn answer(
    dispatcher: &Arc<Dispatcher>,
    services: &BackgroundServices,
    request: Bytes,
) -> Result<Reply, Status> {
    let request: DeletionStatusRequest = framed::message::decode(request)?;
    let user = request.user.as_str();
    if !dispatcher.is_admin(user) && !dispatcher.may_see_all(user) {
        return Err(Status::invalid(AccessDenied { user: user.to_owned() }.to_string()));
    }
    let status = deletion::status(dispatcher, services).await?;
    Ok(framed::message::reply(&status))
}
