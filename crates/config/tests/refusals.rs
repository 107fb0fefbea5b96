//! Errors about unknown and malformed values include their place.

use config::{ConfigError, Configuration};

use crate::{variables, with_site};

#[test]
fn a_malformed_value_is_named_with_its_file_and_line() {
    let (dir, builder) =
        with_site(&[("ozone.om.http.enabled", "true"), ("ozone.scm.container.size", "5 bananas")]);
    let error = builder.build().unwrap_err().to_string();
    let place = format!("{}:3:", dir.path().join("ozone-site.xml").display());
    assert!(error.starts_with(&place), "{error}");
    for part in ["ozone.scm.container.size", "5 bananas", "a size, such as"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_malformed_value_is_named_with_its_variable_or_the_command_line() {
    let builder = Configuration::builder().env_from(variables(&[("OZONE_OM_GRPC_PORT", "99999")]));
    assert!(
        builder
            .build()
            .unwrap_err()
            .to_string()
            .starts_with("environment OZONE_OM_GRPC_PORT: ozone.om.grpc.port = '99999'")
    );
    let builder = Configuration::builder().define("hdds.scm.safemode.enabled=perhaps").unwrap();
    assert!(
        builder
            .build()
            .unwrap_err()
            .to_string()
            .starts_with("command line: hdds.scm.safemode.enabled = 'perhaps'")
    );
}

#[test]
fn a_choice_takes_only_what_is_offered_in_any_case() {
    let builder = Configuration::builder().define("ozone.client.checksum.type=CRC31").unwrap();
    let error = builder.build().unwrap_err().to_string();
    assert!(error.contains("one of NONE, CRC32, CRC32C, SHA256, MD5"), "{error}");
    let conf = Configuration::builder()
        .define("ozone.client.checksum.type=crc32c")
        .unwrap()
        .build()
        .unwrap();
    assert_eq!(conf.get(&config::keys::client::OZONE_CLIENT_CHECKSUM_TYPE), "CRC32C");
}

#[test]
fn an_unknown_key_of_ours_is_warned_of_with_the_key_it_may_mean() {
    let (dir, builder) = with_site(&[("ozone.om.adress", "h:1"), ("fs.defaultFS", "ofs://om")]);
    let conf = builder.build().unwrap();
    let warnings: Vec<String> = conf.warnings().iter().map(ToString::to_string).collect();
    let place = dir.path().join("ozone-site.xml");
    assert_eq!(
        warnings,
        [format!(
            "{}:2: unknown key ozone.om.adress has no effect (did you mean ozone.om.address?)",
            place.display()
        )]
    );
}

#[test]
fn an_unknown_key_stops_the_start_where_that_is_wanted() {
    let builder = |policy: &str| {
        Configuration::builder()
            .define("ozone.nothing.like.it=1")
            .unwrap()
            .define(format!("trioxide.config.unknown.keys={policy}"))
            .unwrap()
            .build()
    };
    assert!(matches!(builder("error"), Err(ConfigError::Unknown { suggestion: None, .. })));
    assert_eq!(builder("ignore").unwrap().warnings(), []);
    assert_eq!(builder("warn").unwrap().warnings().len(), 1);
}

#[test]
fn a_key_of_one_node_of_a_service_is_known_and_checked() {
    let conf = Configuration::builder()
        .define("ozone.om.address.svc.om1=host:1")
        .unwrap()
        .build()
        .unwrap();
    assert_eq!(conf.warnings(), []);
    assert_eq!(conf.get_for(&config::keys::om::OZONE_OM_ADDRESS, "svc.om1").to_string(), "host:1");
    assert_eq!(conf.get_for(&config::keys::om::OZONE_OM_ADDRESS, "svc.om2").port, 9862);
    let malformed = Configuration::builder().define("ozone.om.address.svc.om1=host:port").unwrap();
    assert!(matches!(malformed.build(), Err(ConfigError::Malformed { .. })));
}

#[test]
fn a_role_without_a_directory_is_told_which_keys_to_set() {
    let error = Configuration::default()
        .directory(&config::keys::om::OZONE_OM_DB_DIRS)
        .unwrap_err()
        .to_string();
    assert!(error.contains("ozone.om.db.dirs") && error.contains("ozone.metadata.dirs"), "{error}");
}
