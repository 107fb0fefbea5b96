//! The members of a service, as the configuration names them.

use std::time::Duration;

use service::Shutdown;
use uuid::Uuid;

use crate::handle::Handle;
use crate::machine::Machine;

/// How often the configuration is read again while it lacks a member of the service.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);

/// What a role knows of the members of its service.
pub trait ServiceMembers: Send + Sync + 'static {
    /// The role, in log lines: "OM".
    const ROLE: &'static str;
    /// The configuration's key that names the members.
    const KEY: &'static str;

    /// Whether the configuration has a member.
    fn knows(&self, node: Uuid) -> bool;

    /// Reads the configuration again: an operator names a new member there before it joins.
    fn reload(&self);
}

impl<M: Machine> Handle<M> {
    /// Follows the members of the service, until `shutdown`: for one that is unknown the
    /// configuration is read again, and a node that was removed stops.
    pub fn watch_members<S: ServiceMembers>(&self, members: S, shutdown: &Shutdown) {
        let (handle, stop) = (self.clone(), shutdown.clone());
        tokio::spawn(async move {
            if stop.until(handle.removed(&members)).await == Some(true) {
                tracing::error!(role = S::ROLE, node = %handle.node(), "the role stops: it was decommissioned");
                stop.trigger();
            }
        });
    }

    /// Returns once this node was removed, or with false when the group ended.
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
                tracing::warn!(role, key, %address, "a member of the service is not in the configuration: clients are not sent to it");
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return false },
                () = tokio::time::sleep(RELOAD_INTERVAL), if !missing.is_empty() => {}
                gone = removed.wait_for(|removed| *removed) => return gone.is_ok(),
            }
        }
    }
}
