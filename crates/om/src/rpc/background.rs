//! Background services of this OM: `o3 admin service`.

use bytes::Bytes;
use framed::{Reply, Status};
use proto::background_service::BackgroundServicesRequest;
use service::{AccessDenied, BackgroundServices, Right, background};

use crate::dispatch::Dispatcher;

/// Answers requests about the services, on the leader and on followers.
///
/// # Errors
/// When the request does not decode, or the user lacks the right.
pub(super) fn answer(
    dispatcher: &Dispatcher,
    services: &BackgroundServices,
    request: Bytes,
) -> Result<Reply, Status> {
    let request: BackgroundServicesRequest = framed::message::decode(request)?;
    let user = request.user.as_str();
    let may = dispatcher.is_admin(user)
        || background::right(&request) == Right::ReadOnlyAdmin && dispatcher.may_see_all(user);
    if !may {
        return Err(Status::invalid(AccessDenied { user: user.to_owned() }.to_string()));
    }
    let node_id = dispatcher.parts().facts.members.me.node_id.clone();
    Ok(framed::message::reply(&services.answer(&request, "om", node_id)))
}
