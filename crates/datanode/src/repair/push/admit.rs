//! Which containers are taken from other nodes.
//!
//! A push names its sender by nothing that can be proved before nodes have certificates: every
//! client that reaches the port may push a container that is not here. What it says is bounded, so
//! that it does no harm to what is here: see also [`Arrival`](containerstore::transfer::Arrival).

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
        _ => Err(Status::invalid(format!("no container has id {id}"))),
    }
}

/// Checks what a sender says of the container that it is going to push.
///
/// # Errors
/// When no DataNode says so of a container.
pub(super) fn manifest(store: &ContainerStore, manifest: &Manifest) -> Result<(), Status> {
    let most = store.options().most_in_container();
    let Manifest { origin, replica_index, bcsid, delete_tx, used, max_size, .. } = manifest;
    if origin.parse::<Uuid>().is_err() {
        return Err(Status::invalid("the origin of a container is no datanode's id"));
    }
    if *used > most {
        return Err(Status::invalid(format!("a container of {used} bytes, {most} may be")));
    }
    // They are told to SCM as signed numbers.
    let fits = |n: &u64| i64::try_from(*n).is_ok();
    if *replica_index < 0 || ![bcsid, delete_tx, max_size].into_iter().all(fits) {
        return Err(Status::invalid("numbers that no container has"));
    }
    Ok(())
}
