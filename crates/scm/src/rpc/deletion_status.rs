//! Progress of deletions in this SCM: `o3 admin deletion status`.

use framed::message::{decode, reply};
use framed::{Call, Reply, Status};
use proto::deletion_status::DeletionStatusRequest;
use service::Right;

use crate::core::Core;
use crate::error::RequestError;
use crate::status::deletion;

/// Answers, whether or not this SCM leads.
///
/// # Errors
/// When the request does not decode, or the user lacks the right.
pub fn answer(core: &Core, call: Call) -> Result<Reply, Status> {
    let request: DeletionStatusRequest = decode(call.header)?;
    core.access
        .check(Right::ReadOnlyAdmin, Some(&request.user))
        .map_err(|denied| RequestError::from(denied).to_status())?;
    Ok(reply(&deletion::status(core)))
}
