//! What comes and goes with leadership.

use std::sync::Arc;
use std::time::Duration;

use multiraft::LeaderState;
use service::Shutdown;

use crate::first_start;
use crate::options::RootCredentials;
use crate::room::Room;

/// Pause before what a new leader makes is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// Watches who leads a group of several OMs, until `shutdown`.
///
/// Whoever leads makes what a first start has to make, which is nothing when it is there. Whoever no
/// longer leads lets go of the blocks it held ready.
pub(crate) fn watch(
    room: &Arc<Room>,
    given: Option<RootCredentials>,
    access_key: String,
    shutdown: &Shutdown,
) {
    let (room, stop) = (Arc::clone(room), shutdown.clone());
    tokio::spawn(async move {
        let mut changes = room.parts().group.leader_changes();
        let watch = async {
            let mut prepared = false;
            loop {
                let state = *changes.borrow_and_update();
                tell(&room, &state);
                if !room.is_leader() {
                    room.parts().pool.clear();
                } else if !prepared {
                    let made =
                        first_start::prepare_shared(&room, given.as_ref(), &access_key).await;
                    match made {
                        Ok(()) => prepared = true,
                        Err(e) => {
                            tracing::info!("what a new service needs is not made yet: {e}");
                            tokio::time::sleep(AGAIN).await;
                            continue;
                        }
                    }
                }
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        stop.until(watch).await;
    });
}

fn tell(room: &Room, state: &LeaderState) {
    let members = &room.parts().facts.members;
    let leader = state.leader.and_then(|id| members.by_raft_id(id));
    let leader = leader.as_ref().map_or("nobody", |m| m.node_id.as_str());
    let term = state.term;
    tracing::info!(node = members.me.node_id, leader, term, ready = state.ready, "OM leader");
}
