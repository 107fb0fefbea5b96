//! Users and groups of this machine from its account files, as in Ozone's Unix group mapping: the
//! group of a new volume, bucket or key, the ACL entries that apply to a user, and the
//! administrators of a server.
//!
//! Groups of users in the configuration take precedence.
//!
//! The files are read directly, without the system's resolver: that one may block on a directory
//! server, and a request must not. A user missing from the files is in no group.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::keys::hdds;
use config::{Configuration, StaticGroups};
use moka::sync::Cache;

/// Maximum number of cached users.
const MOST_USERS: u64 = 10_000;
/// Maximum cache lifetime; the cache does not accept lifetimes of centuries.
const LONGEST_TIME_TO_LIVE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Settings of group lookups.
#[derive(Debug, Clone)]
pub struct GroupSettings {
    /// Reads the machine's account files (`hadoop.security.group.mapping`).
    pub files: bool,
    /// Groups of users that are not looked up (`hadoop.user.group.static.mapping.overrides`).
    pub overrides: StaticGroups,
    /// Cache lifetime of a lookup (`hadoop.security.groups.cache.secs`).
    pub time_to_live: Duration,
}

impl GroupSettings {
    /// Reads the settings from the configuration, which accepts no other mappings than these.
    pub fn from_configuration(conf: &Configuration) -> Self {
        let mapping = conf.get(&hdds::HADOOP_SECURITY_GROUP_MAPPING).to_ascii_lowercase();
        let seconds = conf.get(&hdds::HADOOP_SECURITY_GROUPS_CACHE_SECS);
        Self {
            files: !mapping.ends_with(".nullgroupsmapping"),
            overrides: conf.get(&hdds::HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES),
            time_to_live: Duration::from_secs(seconds).min(LONGEST_TIME_TO_LIVE),
        }
    }
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self::from_configuration(&Configuration::default())
    }
}

/// The groups of users.
#[derive(Debug)]
pub struct Groups {
    files: Option<Files>,
    overrides: BTreeMap<String, Arc<[String]>>,
    known: Cache<String, Arc<[String]>>,
}

/// The account files.
#[derive(Debug, Clone)]
struct Files {
    users: PathBuf,
    groups: PathBuf,
}

impl Files {
    fn of_machine() -> Self {
        Self { users: "/etc/passwd".into(), groups: "/etc/group".into() }
    }
}

impl Groups {
    /// Creates a lookup with these `settings`.
    pub fn new(settings: &GroupSettings) -> Self {
        Self::of_files(settings.files.then(Files::of_machine), settings)
    }

    fn of_files(files: Option<Files>, settings: &GroupSettings) -> Self {
        let known = Cache::builder().max_capacity(MOST_USERS);
        let known = known.time_to_live(settings.time_to_live).build();
        let overrides = settings.overrides.0.iter();
        let overrides = overrides.map(|(user, groups)| (user.clone(), groups.clone().into()));
        Self { files, overrides: overrides.collect(), known }
    }

    /// Returns those of these groups that do not exist, so that they have no members.
    pub fn unknown<'a>(&self, groups: &'a [String]) -> Vec<&'a str> {
        let file = self.files.as_ref().and_then(|files| read(&files.groups)).unwrap_or_default();
        let known = |group: &str| {
            file.lines().any(|line| line.split(':').next() == Some(group))
                || self.overrides.values().any(|all| all.iter().any(|of| of == group))
        };
        groups.iter().map(String::as_str).filter(|group| !known(group)).collect()
    }

    /// The groups of a user, the primary one first.
    pub fn of(&self, user: &str) -> Arc<[String]> {
        if let Some(given) = self.overrides.get(user) {
            return Arc::clone(given);
        }
        if let Some(known) = self.known.get(user) {
            return known;
        }
        let found: Arc<[String]> = self.look_up(user).into();
        self.known.insert(user.to_owned(), Arc::clone(&found));
        found
    }

    fn look_up(&self, user: &str) -> Vec<String> {
        let Some(files) = &self.files else { return Vec::new() };
        let (Some(users), Some(groups)) = (read(&files.users), read(&files.groups)) else {
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
}

/// The user of this process, who is an administrator of its server.
pub fn own_user() -> String {
    let named = |variable| std::env::var(variable).ok().filter(|user| !user.is_empty());
    let user = named("USER").or_else(|| named("LOGNAME"));
    user.or_else(|| process_user(&Files::of_machine())).unwrap_or_else(|| "ozone".to_owned())
}

fn process_user(files: &Files) -> Option<String> {
    let number = std::fs::metadata("/proc/self").ok()?.uid().to_string();
    name_of(&read(&files.users)?, &number)
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
        let files = Files { users, groups };
        let groups = Groups::of_files(Some(files), &GroupSettings::default());
        assert_eq!(&*groups.of("root"), ["root"]);
        assert_eq!(&*groups.of("ann"), ["staff", "wheel"]);
        assert_eq!(&*groups.of("bob"), ["staff"], "its own group is unknown");
        assert_eq!(&*groups.of("eve"), ["wheel"], "listed in the groups file only");
        for unknown in ["carol", "", "broken"] {
            assert!(groups.of(unknown).is_empty(), "{unknown}");
        }
        assert_eq!(name_of(text, "1001").as_deref(), Some("bob"));
    }

    #[test]
    fn without_files_nobody_has_a_group() {
        let files = Files { users: "/nowhere/passwd".into(), groups: "/nowhere/group".into() };
        let groups = Groups::of_files(Some(files.clone()), &GroupSettings::default());
        assert!(groups.of("root").is_empty());
        assert_eq!(process_user(&files), None);
    }

    #[test]
    fn what_the_configuration_says_of_a_user_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        let (users, groups) = (dir.path().join("passwd"), dir.path().join("group"));
        std::fs::write(&users, "ann:x:1000:100::/:/bin/sh\nbob:x:1001:100::/:/bin/sh\n").unwrap();
        std::fs::write(&groups, "staff:x:100:\n").unwrap();
        let files = Files { users, groups };
        let conf = Configuration::default()
            .with("hadoop.user.group.static.mapping.overrides", "ann=ops,audit;eve=");
        let settings = GroupSettings::from_configuration(&conf);
        let found = Groups::of_files(Some(files.clone()), &settings);
        assert_eq!(&*found.of("ann"), ["ops", "audit"]);
        assert_eq!(&*found.of("bob"), ["staff"]);
        let named = ["staff", "audit", "visitors"].map(str::to_owned);
        assert_eq!(found.unknown(&named), ["visitors"]);

        let null = "org.apache.hadoop.security.NullGroupsMapping";
        let conf = conf.with("hadoop.security.group.mapping", null);
        let settings = GroupSettings::from_configuration(&conf);
        assert!(!settings.files);
        let found = Groups::new(&settings);
        assert_eq!(&*found.of("ann"), ["ops", "audit"]);
        assert!(found.of("root").is_empty());
        assert_eq!(found.unknown(&named), ["staff", "visitors"]);
    }
}
