//! Administrators of a server. As in Ozone, users are checked only if authorization is enabled;
//! here `ozone.acl.enabled` enables it for every role.

use config::Configuration;
use config::keys::{hdds, om};
use types::Principals;

use crate::groups::{GroupSettings, Groups, own_user};

/// The right required by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// None.
    Everyone,
    /// Read access to everything: administrators and read-only administrators have it.
    ReadOnlyAdmin,
    /// Write access to everything: administrators have it.
    Admin,
}

/// Settings about administrators.
#[derive(Debug, Clone, Default)]
pub struct AdminPolicy {
    /// Enables checks by user: `ozone.acl.enabled`.
    pub enabled: bool,
    /// `ozone.administrators` and their groups.
    pub admins: Principals,
    /// `ozone.readonly.administrators` and their groups.
    pub read_only_admins: Principals,
    /// Source of users' groups.
    pub groups: GroupSettings,
}

impl AdminPolicy {
    /// Reads the policy from the configuration.
    pub fn from_configuration(conf: &Configuration) -> Self {
        let named = |users, groups| Principals { users: conf.get(users), groups: conf.get(groups) };
        Self {
            enabled: conf.get(&om::OZONE_ACL_ENABLED),
            admins: named(&hdds::OZONE_ADMINISTRATORS, &hdds::OZONE_ADMINISTRATORS_GROUPS),
            read_only_admins: named(
                &om::OZONE_READONLY_ADMINISTRATORS,
                &om::OZONE_READONLY_ADMINISTRATORS_GROUPS,
            ),
            groups: GroupSettings::from_configuration(conf),
        }
    }
}

/// The user lacks the required right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Access denied for user {user}. Superuser privilege is required.")]
pub struct AccessDenied {
    /// The user; empty if the request names none.
    pub user: String,
}

/// Checks the rights of requests by user.
#[derive(Debug)]
pub struct AdminAccess {
    policy: AdminPolicy,
    groups: Groups,
}

impl AdminAccess {
    /// Applies `policy`; the user of this process is an administrator, too.
    pub fn new(mut policy: AdminPolicy) -> Self {
        let groups = Groups::new(&policy.groups);
        policy.admins.users.push(own_user());
        Self { policy, groups }
    }

    /// Checks that a user has a right. A request without a user has none.
    ///
    /// # Errors
    /// If the user lacks it.
    pub fn check(&self, right: Right, user: Option<&str>) -> Result<(), AccessDenied> {
        let policy = &self.policy;
        if !policy.enabled || right == Right::Everyone {
            return Ok(());
        }
        let user = user.unwrap_or_default();
        let groups = self.groups.of(user);
        let may_read =
            || right == Right::ReadOnlyAdmin && policy.read_only_admins.include(user, &groups);
        if !user.is_empty() && (policy.admins.include(user, &groups) || may_read()) {
            return Ok(());
        }
        Err(AccessDenied { user: user.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(enabled: bool) -> AdminAccess {
        let named = |name: &str| Principals { users: vec![name.to_owned()], groups: Vec::new() };
        let policy = AdminPolicy {
            enabled,
            admins: named("ann"),
            read_only_admins: named("reader"),
            groups: GroupSettings::default(),
        };
        AdminAccess::new(policy)
    }

    #[test]
    fn users_have_the_rights_that_the_configuration_gives() {
        let (on, own) = (access(true), own_user());
        for (right, may, may_not) in [
            (Right::Everyone, vec!["ann", "reader", "bob", ""], vec![]),
            (Right::ReadOnlyAdmin, vec!["ann", "reader", &own], vec!["bob", ""]),
            (Right::Admin, vec!["ann", &own], vec!["reader", "bob", ""]),
        ] {
            for user in may {
                assert!(on.check(right, Some(user)).is_ok(), "{right:?} {user}");
            }
            for user in may_not {
                let refused = on.check(right, Some(user)).unwrap_err();
                assert_eq!(refused, AccessDenied { user: user.to_owned() }, "{right:?}");
                assert!(access(false).check(right, Some(user)).is_ok());
            }
        }
        assert!(on.check(Right::Admin, None).is_err());
        assert!(on.check(Right::Everyone, None).is_ok());
    }
}
