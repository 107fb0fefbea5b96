//! Members of a service in its configuration.

use std::time::Duration;

use service::Shutdown;
use uuid::Uuid;

use crate::handle::Handle;
use crate::machine::Machine;

/// Interval of reloads of the configuration while it lacks a member of the service.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);

/// A role's configured members of its service.
pub trait ServiceMembers: Send + Sync + 'static {
    /// The role, in log lines: "OM".
    const ROLE: &'static str;
    /// The configuration key of the members.
    const KEY: &'static str;

    /// Returns `true` if the configuration contains a member.
    fn knows(&self, node: Uuid) -> bool;

    /// Reloads the configuration: an operator adds a new member there before it joins.
    fn reload(&self);
}

impl<M: Machine> Handle<M> {
    /// Follows the members of the service, until `shutdown`: reloads the configuration for an
    /// unknown one, and stops this node when it was removed.
    pub fn watch_members<S: ServiceMembers>(&self, members: S, shutdown: &Shutdown) {
        let (handle, stop) = (self.clone(), shutdown.clone());
        tokio::spawn(async move {
            if stop.until(handle.removed(&members)).await == Some(true) {
                tracing::error!(role = S::ROLE, node = %handle.node(), "stopping the role: it was decommissioned");
                stop.trigger();
            }
        });
    }

    /// Returns `true` once this node was removed, or `false` when the group ended.
    async fn removed<S: ServiceMembers>(&self, members: &S) -> bool {
        let mut changes = self.group().membership_changes();
        let mut removed = self.group().removed();
        loop {
            let membership = changes.borrow_and_update().clone();
            let unknown = |m: &&multiraft::Member| !members.knows(m.peer.node);
            if membership.members.iter().any(|m| unknown(&m)) {
                members.reload();
            }
            let missing: Vec<_> = membership.members.iter().filter(unknown).collect();
            for member in &missing {
                let (role, key, address) = (S::ROLE, S::KEY, &member.peer.address);
                tracing::warn!(role, key, %address, "a member of the service is missing from the configuration: clients are not redirected to it");
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return false },
                () = tokio::time::sleep(RELOAD_INTERVAL), if !missing.is_empty() => {}
                gone = removed.wait_for(|removed| *removed) => return gone.is_ok(),
            }
        }
    }
}
