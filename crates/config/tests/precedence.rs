//! Precedence of the sources, and the origin of each value.

use config::keys::om::OZONE_OM_ADDRESS;
use config::{ConfigError, Configuration, Origin};

use crate::{file, site, variables, with_site};

const KEY: &str = "ozone.om.address";

#[test]
fn defaults_yield_to_the_file_the_file_to_the_environment_and_that_to_the_command_line() {
    let conf = Configuration::builder().build().unwrap();
    assert_eq!(
        (conf.get(&OZONE_OM_ADDRESS).to_string(), conf.origin(&OZONE_OM_ADDRESS)),
        ("0.0.0.0:9862".into(), Origin::Default)
    );

    let (_dir, path) = site(&[("other", "x"), (KEY, "file:1")]);
    let conf = Configuration::builder().file(&path).unwrap().build().unwrap();
    assert_eq!(conf.get(&OZONE_OM_ADDRESS).to_string(), "file:1");
    assert_eq!(conf.origin(&OZONE_OM_ADDRESS), Origin::File { path: path.clone(), line: 3 });

    let environment = variables(&[("OZONE_OM_ADDRESS", "env:2")]);
    let conf = Configuration::builder()
        .env_from(environment.clone())
        .file(&path)
        .unwrap()
        .build()
        .unwrap();
    assert_eq!(conf.get(&OZONE_OM_ADDRESS).to_string(), "env:2");
    assert_eq!(conf.origin(&OZONE_OM_ADDRESS).to_string(), "environment OZONE_OM_ADDRESS");

    let conf = Configuration::builder()
        .define(format!("{KEY}=cli:3"))
        .unwrap()
        .env_from(environment)
        .file(&path)
        .unwrap()
        .build()
        .unwrap();
    assert_eq!(conf.get(&OZONE_OM_ADDRESS).to_string(), "cli:3");
    assert_eq!(conf.origin(&OZONE_OM_ADDRESS), Origin::CommandLine);
}

#[test]
fn the_container_images_form_of_a_variable_is_understood() {
    let environment = variables(&[("OZONE-SITE.XML_ozone.om.address", "image:4")]);
    let conf = Configuration::builder().env_from(environment).build().unwrap();
    assert_eq!(conf.get(&OZONE_OM_ADDRESS).to_string(), "image:4");
}

#[test]
fn a_directory_means_the_file_in_it() {
    let (dir, path) = file("ozone-site.toml", "\"ozone.om.address\" = \"toml:5\"\n");
    let conf = Configuration::builder().file(dir.path()).unwrap().build().unwrap();
    assert_eq!(conf.get(&OZONE_OM_ADDRESS).to_string(), "toml:5");
    assert_eq!(conf.origin(&OZONE_OM_ADDRESS), Origin::File { path, line: 1 });
}

#[test]
fn a_later_property_of_a_file_replaces_an_earlier_one() {
    let (_dir, builder) = with_site(&[(KEY, "first:1"), (KEY, "second:2")]);
    assert_eq!(builder.build().unwrap().get(&OZONE_OM_ADDRESS).to_string(), "second:2");
}

#[test]
fn an_empty_value_means_unset() {
    let (_dir, builder) = with_site(&[(KEY, "")]);
    assert_eq!(builder.build().unwrap().get(&OZONE_OM_ADDRESS).to_string(), "0.0.0.0:9862");
}

#[test]
fn a_missing_file_is_named() {
    let error = Configuration::builder().file("no/such/ozone-site.xml").unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }));
    assert!(error.to_string().contains("no/such/ozone-site.xml"), "{error}");
}

#[test]
fn a_definition_without_a_value_is_refused() {
    for given in ["ozone.om.address", "=value", ""] {
        let error = Configuration::builder().define(given).unwrap_err();
        assert!(matches!(error, ConfigError::Definition { .. }), "{given}");
    }
}

#[test]
fn a_derived_configuration_differs_in_one_key_and_says_so() {
    let conf = Configuration::default();
    let derived = conf.with(KEY, "127.0.0.1:0");
    assert_eq!(derived.get(&OZONE_OM_ADDRESS).port, 0);
    assert_eq!(derived.origin(&OZONE_OM_ADDRESS), Origin::Derived("the program".into()));
    assert_eq!(conf.get(&OZONE_OM_ADDRESS).port, 9862);
    assert!(matches!(conf.try_with(KEY, "a:b"), Err(ConfigError::Malformed { .. })));
}
