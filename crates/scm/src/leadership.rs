//! What follows from a change of leader among several SCMs.
//!
//! DataNodes report to all SCMs, so a follower knows nodes and replicas when it becomes the leader.
//! What it cannot know is what it dropped because the log had not reached it; therefore a new
//! leader has every node register anew.

use std::sync::Arc;
use std::time::Duration;

use multiraft::LeaderState;

use crate::core::Core;

/// How often the configuration is read again while it lacks a member of the service.
const CONFIG_RELOAD_INTERVAL: Duration = Duration::from_secs(5);
/// Pause before a leader is asked again how far the log is.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Watches which SCM leads, until the end.
pub fn watch(core: &Arc<Core>) {
    let core = Arc::clone(core);
    let mut changes = core.group().leader_changes();
    tokio::spawn(async move {
        loop {
            let now = *changes.borrow_and_update();
            on_leader_change(&core, now);
            let settled = catch_up(&core, now);
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

/// Watches the members of the service, until the end: for one that is unknown the configuration is
/// read again, and an SCM that was removed stops.
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
                    () = tokio::time::sleep(CONFIG_RELOAD_INTERVAL), if !known => {}
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

fn on_leader_change(core: &Core, now: LeaderState) {
    if now.leader.is_none() {
        return;
    }
    if now.ready {
        tracing::info!(term = now.term, "this SCM leads");
        core.lead();
    } else if now.leader != Some(core.identity.scm_id) {
        core.follow();
    }
}

/// Waits until what the leader had committed is applied here, for the rules that begin with it.
async fn catch_up(core: &Core, now: LeaderState) {
    if now.leader.is_none() {
        return;
    }
    while core.group().read_index().await.is_err() {
        tokio::time::sleep(RETRY_DELAY).await;
    }
    core.state_machine_is_ready();
    core.try_leave_safe_mode();
}
