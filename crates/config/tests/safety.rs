//! Keys that enable missing safety features prevent the start.

use config::refused::REFUSED;
use config::{ConfigError, Configuration, keys, reference};

use crate::{variables, with_site};

fn defined(key: &str, value: &str) -> Result<Configuration, ConfigError> {
    Configuration::builder().define(format!("{key}={value}")).unwrap().build()
}

#[test]
fn a_promise_that_is_not_kept_is_refused_with_its_place_and_the_reason() {
    let (dir, builder) =
        with_site(&[("ozone.metadata.dirs", "/data"), ("ozone.security.enabled", "true")]);
    let error = builder.build().unwrap_err();
    assert!(matches!(error, ConfigError::Refused { .. }));
    let place = dir.path().join("ozone-site.xml");
    assert_eq!(
        error.to_string(),
        format!(
            "{}:3: ozone.security.enabled = 'true' is refused: there is no security: no Kerberos, no \
             tokens, no certificates",
            place.display()
        )
    );
}

#[test]
fn every_such_key_is_refused_in_files_the_environment_and_definitions() {
    for refused in REFUSED {
        let key = refused.key;
        let (_dir, file) = with_site(&[(key, "${env.NONE}something")]);
        assert!(matches!(file.build(), Err(ConfigError::Refused { .. })), "{key}");
        assert!(matches!(defined(key, "something"), Err(ConfigError::Refused { .. })), "{key}");
        let variable = key.to_ascii_uppercase().replace(['.', '-'], "_");
        let builder = Configuration::builder().env_from(variables(&[(&variable, "something")]));
        assert!(matches!(builder.build(), Err(ConfigError::Refused { .. })), "{variable}");
        let derived = Configuration::default().try_with(key, "something");
        assert!(matches!(derived, Err(ConfigError::Refused { .. })), "{key}");
    }
}

#[test]
fn values_that_ask_for_nothing_are_accepted() {
    for refused in REFUSED {
        for value in refused.accepted.iter().chain(&[""]) {
            assert!(defined(refused.key, value).is_ok(), "{} = {value}", refused.key);
            assert!(defined(refused.key, &value.to_ascii_uppercase()).is_ok(), "{}", refused.key);
        }
    }
    // The default of a declared key enables no missing feature.
    for spec in keys::all() {
        if let Some(refused) = REFUSED.iter().find(|refused| refused.key == spec.name) {
            assert!(refused.accepts(spec.default), "{}", spec.name);
        }
    }
}

#[test]
fn every_such_key_is_in_the_reference_with_its_reason() {
    let text = reference::markdown();
    for refused in REFUSED {
        assert!(text.contains(&format!("| `{}` | unset", refused.key)), "{}", refused.key);
        assert!(text.contains(refused.reason), "{}", refused.reason);
    }
}

#[test]
fn a_promise_under_an_old_name_is_refused_too() {
    let error = defined("dfs.http.policy", "HTTPS_ONLY").unwrap_err().to_string();
    assert!(
        error.starts_with("command line: dfs.http.policy = 'HTTPS_ONLY' is refused"),
        "{error}"
    );
    assert!(defined("dfs.http.policy", "HTTP_ONLY").is_ok());
}
