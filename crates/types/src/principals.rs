//! Users and groups of a rule.

/// Users and groups by name; `*` as a user matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Principals {
    /// Users.
    pub users: Vec<String>,
    /// Groups.
    pub groups: Vec<String>,
}

impl Principals {
    /// Returns `true` if a user with these groups is included.
    pub fn include(&self, user: &str, groups: &[String]) -> bool {
        self.users.iter().any(|name| name == user || name == "*")
            || groups.iter().any(|group| self.groups.contains(group))
    }
}
