//! `${...}` in values.

use std::path::PathBuf;

use config::keys::om::OZONE_OM_DB_DIRS;
use config::{ConfigError, Configuration};

use crate::variables;

fn resolve(value: &str) -> Result<PathBuf, ConfigError> {
    let conf = Configuration::builder()
        .env_from(variables(&[
            ("ROOT", "/r"),
            ("EMPTY", ""),
            ("HOME", "/home/ann"),
            ("USER", "ann"),
        ]))
        .define("ozone.metadata.dirs=/meta")
        .unwrap()
        .define("my.own=${ozone.metadata.dirs}/own")
        .unwrap()
        .define("loop.a=${loop.b}")
        .unwrap()
        .define("loop.b=${loop.a}")
        .unwrap()
        .define(format!("ozone.om.db.dirs={value}"))
        .unwrap();
    // The loop itself is an error anywhere; leave it out of the other cases.
    let conf = if value.contains("loop") { conf } else { conf.define("loop.a=").unwrap() };
    conf.build().map(|c| c.get(&OZONE_OM_DB_DIRS).unwrap_or_default())
}

#[test]
fn names_are_replaced_by_their_values() {
    let cases = [
        ("/plain", "/plain"),
        ("${ozone.metadata.dirs}/om", "/meta/om"),
        ("${my.own}/${user.name}", "/meta/own/ann"),
        ("${user.home}/x", "/home/ann/x"),
        ("${env.ROOT}/om", "/r/om"),
        ("${env.NONE:-/d}/om", "/d/om"),
        ("${env.EMPTY:-/d}/om", "/d/om"),
        ("${env.EMPTY-/d}/om", "/om"),
        ("${env.${user.name}-/d}", "/d"),
        ("/x/${no.such.key}/y", "/x/${no.such.key}/y"),
        ("/x/${unclosed", "/x/${unclosed"),
        ("/x}/${env.ROOT}", "/x}//r"),
    ];
    for (written, expected) in cases {
        assert_eq!(resolve(written).unwrap(), PathBuf::from(expected), "{written}");
    }
}

#[test]
fn values_that_need_each_other_are_refused() {
    assert!(matches!(resolve("${loop.a}"), Err(ConfigError::Circular { .. })));
}
