//! Static groups of users, in Hadoop's syntax: `ann=staff,ops;bob=`.

use std::collections::BTreeMap;

use crate::declare::{KeySpec, Value};
use crate::error::Expected;

/// The static groups of users, which override all other sources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StaticGroups(pub BTreeMap<String, Vec<String>>);

impl Value for StaticGroups {
    const TYPE: &'static str = "groups of users";

    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        let users = raw.split(';').map(str::trim).filter(|entry| !entry.is_empty());
        let users = users.map(entry).collect::<Option<_>>();
        users
            .map(Self)
            .ok_or(Expected("users with their groups, such as ann=staff,ops;bob=".into()))
    }
}

fn entry(text: &str) -> Option<(String, Vec<String>)> {
    let (user, groups) = text.split_once('=').unwrap_or((text, ""));
    let user = user.trim();
    if user.is_empty() || groups.contains('=') {
        return None;
    }
    let groups = groups.split(',').map(str::trim).filter(|group| !group.is_empty());
    Some((user.to_owned(), groups.map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use crate::Configuration;
    use crate::keys::hdds::HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES as KEY;

    fn groups(text: &str) -> Option<Vec<(String, Vec<String>)>> {
        let conf = Configuration::default().try_with(KEY.name(), text).ok()?;
        Some(conf.get(&KEY).0.into_iter().collect())
    }

    #[test]
    fn users_have_the_groups_behind_their_names() {
        let of = |user: &str, groups: &[&str]| {
            (user.to_owned(), groups.iter().map(|group| (*group).to_owned()).collect())
        };
        let cases: [(&str, Option<Vec<_>>); 7] = [
            ("dr.who=;", Some(vec![of("dr.who", &[])])),
            ("ann=staff, ops ;bob", Some(vec![of("ann", &["staff", "ops"]), of("bob", &[])])),
            ("ann=a;ann=b", Some(vec![of("ann", &["b"])])),
            (" ; ", Some(vec![])),
            ("=staff", None),
            ("ann=a=b", None),
            ("ann=a;=", None),
        ];
        for (text, expected) in cases {
            assert_eq!(groups(text), expected, "{text:?}");
        }
    }
}
