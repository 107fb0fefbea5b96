//! Every key that Ozone publishes works, is refused, or has no effect for a reason.

use std::collections::HashSet;

use config::published::{self, Kind, Verdict, WITHOUT_EFFECT};
use config::{ConfigError, Configuration, Warning, keys, reference};

use crate::{file, with_site};

#[test]
fn every_published_key_has_a_verdict() {
    let mut names = HashSet::new();
    for key in published::all() {
        assert!(names.insert(key.name), "{} is listed twice", key.name);
        let verdict = published::verdict(key.name);
        let about = key.kind;
        assert!(
            verdict.is_some(),
            "{} (about {about:?}) neither works nor is refused nor is said to have no effect: declare it in \
             crates/config/src/keys, or add it to refused.rs or published/without_effect.rs",
            key.name
        );
    }
    // The number of keys in the release; keys.tsv must not lose malformed lines.
    assert_eq!(names.len(), 771);
    let about = |kind| published::all().filter(|key| key.kind == kind).count();
    assert_eq!((about(Kind::Access), about(Kind::Limit), about(Kind::Safety)), (182, 188, 125));
}

#[test]
fn what_has_no_effect_is_neither_declared_nor_refused() {
    for entry in WITHOUT_EFFECT.iter().filter(|entry| !entry.pattern.ends_with('*')) {
        let verdict = published::verdict(entry.pattern);
        assert!(matches!(verdict, Some(Verdict::WithoutEffect(_))), "{}", entry.pattern);
    }
    let used = |entry: &&published::WithoutEffect| {
        let mut keys = published::all().map(|key| key.name);
        keys.any(|key| {
            entry.covers(key)
                && published::verdict(key).is_some_and(
                    |v| matches!(v, Verdict::WithoutEffect(reason) if reason == entry.reason),
                )
        })
    };
    // Hadoop's keys are not in Ozone's list.
    let of_hadoop = ["hadoop.", "ipc.", "ssl."];
    let ours = WITHOUT_EFFECT
        .iter()
        .filter(|entry| !of_hadoop.iter().any(|start| entry.pattern.starts_with(start)));
    for entry in ours {
        assert!(used(&entry), "no key of Ozone is left for {}", entry.pattern);
    }
}

#[test]
fn the_verdicts_are_those_that_the_configuration_carries_out() {
    for key in published::all().filter(|key| key.kind != Kind::Other) {
        let set = |value: &str| {
            Configuration::builder().define(format!("{}={value}", key.name)).unwrap().build()
        };
        match published::verdict(key.name).unwrap() {
            Verdict::Works => assert!(keys::all().any(|spec| key.name.starts_with(spec.name))),
            Verdict::Refused => {
                let refused = set("something-else");
                assert!(
                    matches!(
                        refused,
                        Err(ConfigError::Refused { .. } | ConfigError::Malformed { .. })
                    ),
                    "{}",
                    key.name
                );
            }
            Verdict::WithoutEffect(reason) => {
                let conf = set("something-else").unwrap();
                assert!(
                    matches!(conf.warnings(), [Warning::WithoutEffect { reason: told, .. }] if *told == reason),
                    "{}: {:?}",
                    key.name,
                    conf.warnings()
                );
                if !key.default.is_empty() && !key.default.contains("${") {
                    assert_eq!(set(key.default).unwrap().warnings(), [], "{}", key.name);
                }
            }
        }
    }
}

#[test]
fn a_key_without_effect_is_warned_of_with_its_reason_and_can_stop_the_start() {
    let key = "hdds.datanode.read.chunk.threads.per.volume";
    let (_dir, builder) = with_site(&[(key, "64")]);
    let conf = builder.build().unwrap();
    let [warning] = conf.warnings() else { panic!("{:?}", conf.warnings()) };
    let text = warning.to_string();
    assert!(text.contains(&format!("{key} has no effect: the worker threads of a disk")), "{text}");
    let (_dir, builder) = with_site(&[(key, "64"), ("trioxide.config.unknown.keys", "error")]);
    let error = builder.build().unwrap_err();
    assert!(matches!(error, ConfigError::WithoutEffect { .. }), "{error}");
    let (_dir, builder) = with_site(&[(key, "64"), ("trioxide.config.unknown.keys", "ignore")]);
    assert_eq!(builder.build().unwrap().warnings(), []);
}

#[test]
fn unknown_keys_of_hadoop_are_warned_of() {
    for key in ["hadoop.no.such.key", "dfs.no.such.key", "ssl.nothing", "ipc.no.such.key"] {
        let (_dir, builder) = with_site(&[(key, "1")]);
        let conf = builder.build().unwrap();
        assert!(
            matches!(conf.warnings(), [Warning::Unknown { key: told, .. }] if told == key),
            "{key}: {:?}",
            conf.warnings()
        );
    }
    let (_dir, builder) = with_site(&[("fs.defaultFS", "ofs://om"), ("my.own", "1")]);
    assert_eq!(builder.build().unwrap().warnings(), []);
}

#[test]
fn what_hadoops_files_beside_ozones_say_counts() {
    let property = |key: &str, value: &str| {
        format!(
            "<configuration><property><name>{key}</name><value>{value}</value></property></configuration>"
        )
    };
    let (dir, _) = file("ozone-site.xml", &property("ozone.administrators", "bob"));
    let build = || Configuration::builder().file(dir.path()).unwrap().build();
    let core = dir.path().join("core-site.xml");
    std::fs::write(&core, property("hadoop.security.authentication", "kerberos")).unwrap();
    let refused = build().unwrap_err();
    assert!(matches!(refused, ConfigError::Refused { .. }), "{refused}");
    assert!(refused.to_string().contains("core-site.xml:1"), "{refused}");
    // Ozone's own file takes precedence, and keys of other programs cause no warning.
    let both = "<configuration><property><name>ozone.administrators</name><value>ann</value></property>\
                <property><name>hadoop.no.such.key</name><value>1</value></property>\
                <property><name>hadoop.proxyuser.hue.hosts</name><value>*</value></property></configuration>";
    std::fs::write(&core, both).unwrap();
    let conf = build().unwrap();
    assert_eq!(conf.get(&keys::hdds::OZONE_ADMINISTRATORS), ["bob"]);
    assert_eq!(conf.warnings(), []);
    let variable =
        ("CORE-SITE.XML_hadoop.security.authentication".to_owned(), "kerberos".to_owned());
    assert!(matches!(
        Configuration::builder().env_from([variable]).build(),
        Err(ConfigError::Refused { .. })
    ));
}

#[test]
fn the_reference_has_every_verdict() {
    let text = reference::markdown();
    for entry in WITHOUT_EFFECT {
        assert!(text.contains(&format!("| `{}` | {} |", entry.pattern, entry.reason)));
    }
    for key in published::all().filter(|key| key.kind != Kind::Other) {
        assert!(text.contains(&format!("| `{}` | ", key.name)), "{}", key.name);
    }
}
