//! Users and groups that a rule is about.

/// Users and groups by name; `*` among the users is everybody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Principals {
    /// Users.
    pub users: Vec<String>,
    /// Groups.
    pub groups: Vec<String>,
}

impl Principals {
    /// Whether a user with these groups is among them.
    pub fn include(&self, user: &str, groups: &[String]) -> bool {
        self.users.iter().any(|name| name == user || name == "*")
            || groups.iter().any(|group| self.groups.contains(group))
    }
}
