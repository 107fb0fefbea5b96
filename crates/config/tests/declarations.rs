//! The inventory of keys is consistent.

use std::collections::HashMap;

use config::{Configuration, keys, reference};

#[test]
fn every_default_is_a_value_of_its_key() {
    for spec in keys::all().filter(|spec| !spec.default.is_empty()) {
        let refused = Configuration::default().try_with(spec.name, spec.default).err();
        assert!(refused.is_none(), "{}: {}", spec.name, refused.unwrap());
    }
}

#[test]
fn every_key_is_declared_once_and_has_an_environment_variable_of_its_own() {
    let mut names = HashMap::new();
    let mut variables = HashMap::new();
    for spec in keys::all() {
        assert!(names.insert(spec.name, ()).is_none(), "{} is declared twice", spec.name);
        let other = variables.insert(spec.env_name(), spec.name);
        assert!(other.is_none(), "{} and {other:?} have one environment variable", spec.name);
    }
}

#[test]
fn every_key_is_documented_in_a_sentence_and_says_which_roles_read_it() {
    for spec in keys::all() {
        assert!(spec.doc_text().ends_with('.'), "{}: {}", spec.name, spec.doc_text());
        assert!(!spec.tags.is_empty(), "{}", spec.name);
        let known = ["ozone.", "hdds.", "trioxide.", "net.topology."]
            .iter()
            .any(|prefix| spec.name.starts_with(prefix));
        // Most of Hadoop's keys are for other programs.
        let known =
            known || ["fs.", "hadoop.", "ipc."].iter().any(|prefix| spec.name.starts_with(prefix));
        assert!(known, "{} would not be reported when mistyped", spec.name);
    }
}

#[test]
fn the_reference_has_an_entry_for_every_key() {
    let text = reference::markdown();
    for spec in keys::all() {
        assert!(text.contains(&format!("### `{}`", spec.name)), "{}", spec.name);
    }
}

#[test]
fn a_listing_has_a_line_for_every_key_and_hides_secrets() {
    let conf =
        Configuration::builder().define("ozone.test.password=hunter2").unwrap().build().unwrap();
    let entries = conf.entries();
    assert!(keys::all().all(|spec| entries.iter().any(|e| e.key == spec.name)));
    let secret = entries.iter().find(|e| e.key == "ozone.test.password").unwrap();
    assert_eq!(secret.value, "<hidden>");
}
