//! Background services of this SCM: `o3 admin service`.

use framed::message::{decode, reply};
use framed::{Call, Reply, Status};
use proto::background_service::BackgroundServicesRequest;
use service::background;

use crate::core::Core;
use crate::error::RequestError;

/// Answers what is asked of the services, whether or not this SCM leads.
///
/// # Errors
/// When the request does not decode, or the user may not ask that.
pub fn answer(core: &Core, call: Call) -> Result<Reply, Status> {
    let request: BackgroundServicesRequest = decode(call.header)?;
    core.access
        .check(background::right(&request), Some(&request.user))
        .map_err(|denied| RequestError::from(denied).to_status())?;
    Ok(reply(&core.services.answer(&request, "scm", core.node_id())))
}
