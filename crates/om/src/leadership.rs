//! Tasks at the beginning and end of leadership.

use std::sync::Arc;
use std::time::Duration;

use multiraft::LeaderState;
use service::Shutdown;

use crate::dispatch::Dispatcher;
use crate::first_start;
use crate::settings::RootCredentials;

/// Retry delay of the initialization by a new leader.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Watches which OM leads a group of several OMs, until `shutdown`.
///
/// The leader creates the initial state of a service, unless it exists. An OM that no longer leads
/// discards its preallocated blocks.
pub(crate) fn watch(
    dispatcher: &Arc<Dispatcher>,
    given: Option<RootCredentials>,
    access_key: String,
    shutdown: &Shutdown,
) {
    let (dispatcher, stop) = (Arc::clone(dispatcher), shutdown.clone());
    tokio::spawn(async move {
        let mut changes = dispatcher.parts().group.leader_changes();
        let watch = async {
            let mut prepared = false;
            loop {
                let state = *changes.borrow_and_update();
                log_leader(&dispatcher, &state);
                if !dispatcher.is_leader() {
                    dispatcher.parts().pool.clear();
                } else if !prepared {
                    let made =
                        first_start::prepare_shared(&dispatcher, given.as_ref(), &access_key).await;
                    match made {
                        Ok(()) => prepared = true,
                        Err(e) => {
                            tracing::info!("cannot initialize the service yet; retrying: {e}");
                            tokio::time::sleep(RETRY_DELAY).await;
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

fn log_leader(dispatcher: &Dispatcher, state: &LeaderState) {
    let members = &dispatcher.parts().facts.members;
    let leader = state.leader.and_then(|id| members.by_raft_id(id));
    let leader = leader.as_ref().map_or("none", |m| m.node_id.as_str());
    let term = state.term;
    tracing::info!(node = members.me.node_id, leader, term, ready = state.ready, "OM leader");
}
