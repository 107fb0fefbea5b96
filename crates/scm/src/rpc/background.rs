//! Background services of this SCM: `o3 admin service`.

use framed::message::{decode, reply};
use framed::{Call, Reply, Status};
use proto::background_service::BackgroundServicesRequest;
use service::background;

use crate::core::Core;
use crate::error::RequestError;

/// Answers requests about background services, on leaders and followers.
///
/// # Errors
/// When the request does not decode, or the user lacks the right.
pub fn answer(core: &Core, call: Call) -> Result<Reply, Status> {
    let request: BackgroundServicesRequest = decode(call.header)?;
    core.access
        .check(background::right(&request), Some(&request.user))
        .map_err(|denied| RequestError::from(denied).to_status())?;
    Ok(reply(&core.services.answer(&request, "scm", core.node_id())))
}
