//! TOML with Ozone's names.

use std::time::Duration;

use config::{ConfigError, Configuration, keys};

use crate::file;

#[test]
fn quoted_names_tables_and_all_kinds_of_values_are_read() {
    let text = "\"ozone.om.address\" = \"h:1\"\n[hdds]\nheartbeat.interval = \"3s\"\n\n[hdds.datanode]\ndir = [\"/d1\", \"/d2\"]\n\
        [hdds.scm.safemode]\nenabled = false\nmin.datanode = 0x3\nthreshold.pct = 0.5\n";
    let (_dir, path) = file("my.toml", text);
    let conf = Configuration::builder().file(&path).unwrap().build().unwrap();
    assert_eq!(conf.get(&keys::om::OZONE_OM_ADDRESS).to_string(), "h:1");
    assert_eq!(conf.get(&keys::hdds::HDDS_HEARTBEAT_INTERVAL), Duration::from_secs(3));
    assert_eq!(conf.get(&keys::datanode::HDDS_DATANODE_DIR).len(), 2);
    assert_eq!(
        conf.origin(&keys::datanode::HDDS_DATANODE_DIR).to_string(),
        format!("{}:6", path.display())
    );
    assert!(!conf.get(&keys::scm::HDDS_SCM_SAFEMODE_ENABLED));
    assert_eq!(conf.get(&keys::scm::HDDS_SCM_SAFEMODE_MIN_DATANODE), 3);
    assert_eq!(conf.get(&keys::scm::HDDS_SCM_SAFEMODE_THRESHOLD_PCT), 0.5);
    assert_eq!(conf.warnings(), []);
}

#[test]
fn what_is_not_toml_is_refused_with_its_line() {
    let (_dir, path) = file("my.toml", "[ozone]\nom.address = \n");
    assert!(matches!(
        Configuration::builder().file(&path),
        Err(ConfigError::Syntax { line: 2, .. })
    ));
}
