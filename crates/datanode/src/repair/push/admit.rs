//! Admission of containers from other nodes.
//!
//! A push cannot prove its sender before nodes have certificates: every client that reaches the
//! port may push a container that is not here. Its fields are bounded, so that it does no harm to
//! the containers here: see also [`Arrival`](containerstore::transfer::Arrival).

use framed::Status;
use types::ContainerId;
use uuid::Uuid;

use containerstore::ContainerStore;
use containerstore::transfer::Manifest;

/// The id of a container that may be pushed.
///
/// # Errors
/// When SCM gives no such ids.
pub(super) fn container(id: u64) -> Result<ContainerId, Status> {
    match i64::try_from(id) {
        Ok(1..) => Ok(ContainerId(id)),
        _ => Err(Status::invalid(format!("invalid container id {id}"))),
    }
}

/// Checks a sender's manifest of the container that it is going to push.
///
/// # Errors
/// If no DataNode would send this manifest of a container.
pub(super) fn manifest(store: &ContainerStore, manifest: &Manifest) -> Result<(), Status> {
    let most = store.options().most_in_container();
    let Manifest { origin, replica_index, bcsid, delete_tx, used, max_size, .. } = manifest;
    if origin.parse::<Uuid>().is_err() {
        return Err(Status::invalid("invalid id of the origin datanode"));
    }
    if *used > most {
        return Err(Status::invalid(format!(
            "container of {used} bytes exceeds the limit of {most}"
        )));
    }
    // SCM receives them as signed numbers.
    let fits = |n: &u64| i64::try_from(*n).is_ok();
    if *replica_index < 0 || ![bcsid, delete_tx, max_size].into_iter().all(fits) {
        return Err(Status::invalid("manifest has numbers out of range"));
    }
    Ok(())
}
