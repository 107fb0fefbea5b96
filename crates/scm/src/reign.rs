//! What follows from a change of leader among several SCMs.
//!
//! DataNodes report to all SCMs, so a follower knows nodes and replicas when it becomes the leader. What it cannot know
//! is what it dropped because the log had not reached it; therefore a new leader has every node register anew.

use std::sync::Arc;
use std::time::Duration;

use multiraft::LeaderState;

use crate::core::Core;

/// How often the configuration is read again while it lacks somebody who belongs to the service.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Pause before a leader is asked again how far the log is.
const AGAIN: Duration = Duration::from_millis(200);

/// Watches who leads, until the end.
pub fn watch(core: &Arc<Core>) {
    let core = Arc::clone(core);
    let mut changes = core.group().leader_changes();
    tokio::spawn(async move {
        loop {
            let now = *changes.borrow_and_update();
            turn(&core, now);
            let settled = settle(&core, now);
            let changed = core.shutdown.until(async {
                tokio::select! {
                    changed = changes.changed() => changed,
                    () = settled => changes.changed().await,
                }
            });
            if !matches!(changed.await, Some(Ok(()))) {
                return;
            }
        }
    });
}

/// Watches who belongs to the service, until the end: of whom nothing is known the configuration is read again, and an
/// SCM that was removed stops.
pub fn watch_members(core: &Arc<Core>) {
    let core = Arc::clone(core);
    let Some(members) = core.identity.members.clone() else { return };
    let mut changes = core.group().membership_changes();
    let mut removed = core.group().removed();
    tokio::spawn(async move {
        let watch = async {
            loop {
                let membership = changes.borrow_and_update().clone();
                let unknown = |m: &multiraft::Member| members.by_id(m.peer.node).is_none();
                if membership.members.iter().any(unknown) {
                    members.reload();
                }
                for member in membership.members.iter().filter(|m| unknown(m)) {
                    let address = &member.peer.address;
                    tracing::warn!(%address, "an SCM of the service is not in ozone.scm.nodes: clients are not sent to it");
                }
                // OMs and DataNodes are told where the members are once all are known.
                let known = !membership.members.iter().any(unknown);
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { return false },
                    () = tokio::time::sleep(LOOK_AGAIN), if !known => {}
                    gone = removed.wait_for(|removed| *removed) => return gone.is_ok(),
                }
            }
        };
        if core.shutdown.until(watch).await == Some(true) {
            tracing::error!(scm = %core.identity.scm_id, "SCM stops: it was decommissioned");
            core.shutdown.trigger();
        }
    });
}

fn turn(core: &Core, now: LeaderState) {
    if now.leader.is_none() {
        return;
    }
    if now.ready {
        tracing::info!(term = now.term, "this SCM leads");
        core.wake_services();
    } else if now.leader != Some(core.identity.scm_id) {
        core.follow();
    }
}

/// Waits until what the leader had committed is applied here, for the rules that begin with it.
async fn settle(core: &Core, now: LeaderState) {
    if now.leader.is_none() {
        return;
    }
    while core.group().read_index().await.is_err() {
        tokio::time::sleep(AGAIN).await;
    }
    core.state_machine_is_ready();
    core.try_leave_safe_mode();
}
