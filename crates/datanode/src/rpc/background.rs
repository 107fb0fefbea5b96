//! Background services of this DataNode: `o3 admin service`.

use framed::message::{decode, reply};
use framed::{Call, Reply, Status};
use proto::background_service::BackgroundServicesRequest;
use service::background;

use crate::daemon::Daemon;

/// Responds to requests about the services. Before the disks are open there are none.
///
/// # Errors
/// When the request does not decode, or the user lacks the right.
pub(super) fn answer(daemon: &Daemon, call: Call) -> Result<Reply, Status> {
    let request: BackgroundServicesRequest = decode(call.header)?;
    daemon
        .access
        .check(background::right(&request), Some(&request.user))
        .map_err(|denied| Status::invalid(denied.to_string()))?;
    let id = daemon.identity.lock().details().id.to_string();
    Ok(reply(&daemon.services.answer(&request, "datanode", id)))
}
