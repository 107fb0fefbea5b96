//! Effects of a change of leader among several SCMs.
//!
//! DataNodes report to all SCMs, so a follower has nodes and replicas when it becomes the leader.
//! It lacks reports that it dropped because its log was not yet applied that far; therefore a new
//! leader has every node register again.
//!
//! A follower leaves safe mode, too: by the same rules, once it has applied all entries that its
//! leader had committed.

use std::sync::Arc;
use std::time::Duration;

use multiraft::LeaderState;

use crate::core::Core;

/// Pause before the leader's log position is requested again.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Watches which SCM leads, until the end.
pub fn watch(core: &Arc<Core>) {
    let core = Arc::clone(core);
    let mut changes = core.group().leader_changes();
    tokio::spawn(async move {
        loop {
            let now = *changes.borrow_and_update();
            on_leader_change(&core, now);
            let caught_up = catch_up(&core, now);
            let changed = core.shutdown.until(async {
                tokio::select! {
                    changed = changes.changed() => changed,
                    () = caught_up => changes.changed().await,
                }
            });
            if !matches!(changed.await, Some(Ok(()))) {
                return;
            }
        }
    });
}

fn on_leader_change(core: &Core, now: LeaderState) {
    if now.leader.is_none() {
        return;
    }
    if now.ready {
        tracing::info!(term = now.term, "became leader");
        core.lead();
    } else if now.leader != Some(core.identity.scm_id) {
        core.follow();
    }
}

/// Waits until the entries that the leader had committed are applied here, on any SCM, for the
/// rules that depend on them.
async fn catch_up(core: &Core, now: LeaderState) {
    if now.leader.is_none() {
        return;
    }
    while core.group().read_index_anywhere().await.is_err() {
        tokio::time::sleep(RETRY_DELAY).await;
    }
    core.state_machine_is_ready();
    core.try_leave_safe_mode();
}
