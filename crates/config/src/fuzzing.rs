//! Files and values of the configuration, for fuzzing.

use crate::{Builder, Configuration, keys};

/// The parsers, by name, with valid inputs.
pub fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    let mut targets = crate::source::fuzzing::targets();
    let definitions =
        keys::all().step_by(20).map(|spec| format!("{}={}", spec.name, spec.default).into());
    let mut seeds: Vec<Vec<u8>> = definitions.collect();
    let others =
        ["hdds.datanode.dir=[SSD]/a,[DISK]/b", "ozone.scm.container.size=5GB", "a=${b}${a}"];
    seeds.extend(others.map(Into::into));
    targets.push(("config-value", value, seeds));
    targets
}

/// A definition, as given with `-D`, results in a configuration or an error.
fn value(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let defined = Configuration::builder().define(&*text).and_then(Builder::build);
    if let Ok(configuration) = defined {
        let _ = configuration.entries();
    }
}

#[cfg(test)]
#[test]
fn any_text_is_a_setting_or_refused() {
    testkit::fuzz(targets());
}
