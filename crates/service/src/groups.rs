//! Users and groups of this machine, from its account files, as Ozone's Unix group mapping tells:
//! which group a new volume, bucket or key is shared with, which entries of an ACL are about a
//! user, and which users administer a server.
//!
//! The files are read rather than the system's resolver asked: that one may wait for a directory
//! server, and a request must not. A user that the files do not know is in no group.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;

/// Users remembered.
const MOST_USERS: u64 = 10_000;
/// How long an answer may be used (Hadoop's `hadoop.security.groups.cache.secs`).
const TIME_TO_LIVE: Duration = Duration::from_secs(300);

/// Which users are in which groups.
#[derive(Debug)]
pub struct Groups {
    users: PathBuf,
    groups: PathBuf,
    known: Cache<String, Arc<[String]>>,
}

impl Default for Groups {
    fn default() -> Self {
        Self::of_files("/etc/passwd".into(), "/etc/group".into())
    }
}

impl Groups {
    fn of_files(users: PathBuf, groups: PathBuf) -> Self {
        let known = Cache::builder().max_capacity(MOST_USERS).time_to_live(TIME_TO_LIVE).build();
        Self { users, groups, known }
    }

    /// The groups of a user, the primary one first.
    pub fn of(&self, user: &str) -> Arc<[String]> {
        if let Some(known) = self.known.get(user) {
            return known;
        }
        let found: Arc<[String]> = self.look_up(user).into();
        self.known.insert(user.to_owned(), Arc::clone(&found));
        found
    }

    fn look_up(&self, user: &str) -> Vec<String> {
        let (Some(users), Some(groups)) = (read(&self.users), read(&self.groups)) else {
            return Vec::new();
        };
        let number = users.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next() == Some(user)).then(|| fields.nth(2)).flatten()
        });
        let mut found: Vec<String> = number.and_then(|n| name_of(&groups, n)).into_iter().collect();
        for line in groups.lines() {
            let mut fields = line.split(':');
            let (name, members) = (fields.next().unwrap_or_default(), fields.nth(2));
            let member = members.is_some_and(|all| all.split(',').any(|m| m.trim() == user));
            if member && !user.is_empty() && !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
        }
        found
    }

    /// The user that this process runs as; an administrator of its server.
    pub fn own_user(&self) -> String {
        let named = |variable| std::env::var(variable).ok().filter(|user| !user.is_empty());
        let user = named("USER").or_else(|| named("LOGNAME")).or_else(|| self.process_user());
        user.unwrap_or_else(|| "ozone".to_owned())
    }

    fn process_user(&self) -> Option<String> {
        let number = std::fs::metadata("/proc/self").ok()?.uid().to_string();
        name_of(&read(&self.users)?, &number)
    }
}

/// The name in the line of `file` whose third field is `number`.
fn name_of(file: &str, number: &str) -> Option<String> {
    file.lines().find_map(|line| {
        let (name, rest) = line.split_once(':')?;
        (rest.split(':').nth(1)? == number && !name.is_empty()).then(|| name.to_owned())
    })
}

fn read(path: &PathBuf) -> Option<String> {
    match std::fs::read(path) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(e) => {
            tracing::debug!("no users or groups from {}: {e}", path.display());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_group_that_the_files_say() {
        let dir = tempfile::tempdir().unwrap();
        let (users, groups) = (dir.path().join("passwd"), dir.path().join("group"));
        let text = "root:x:0:0:root:/root:/bin/sh\n\nbroken\nann:x:1000:100::/home/ann:/bin/sh\n\
                    bob:x:1001:7::/:/bin/sh\n";
        std::fs::write(&users, text).unwrap();
        std::fs::write(&groups, "root:x:0:\nstaff:x:100:bob\nwheel:x:9:eve,ann\n").unwrap();
        let groups = Groups::of_files(users, groups);
        assert_eq!(&*groups.of("root"), ["root"]);
        assert_eq!(&*groups.of("ann"), ["staff", "wheel"]);
        assert_eq!(&*groups.of("bob"), ["staff"], "its own group is unknown");
        assert_eq!(&*groups.of("eve"), ["wheel"], "known to the groups alone");
        for unknown in ["carol", "", "broken"] {
            assert!(groups.of(unknown).is_empty(), "{unknown}");
        }
        assert_eq!(name_of(text, "1001").as_deref(), Some("bob"));
    }

    #[test]
    fn without_files_nobody_has_a_group() {
        let groups = Groups::of_files("/nowhere/passwd".into(), "/nowhere/group".into());
        assert!(groups.of("root").is_empty());
        assert_eq!(groups.process_user(), None);
    }
}
