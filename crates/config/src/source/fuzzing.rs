//! Configuration files, for fuzzing.

use super::{toml, xml};

/// The parsers, by name, with valid inputs.
pub(crate) fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    let site = "<?xml version=\"1.0\"?>\n<configuration>\n<!-- a comment -->\n<property>\
        <name>ozone.om.address</name><value>${env.HOST}:9862 &amp; <![CDATA[raw]]></value>\
        <final>true</final></property>\n</configuration>\n";
    let toml = "[ozone.om]\naddress = \"om:9862\"\nlist = [\"a\", \"b\"]\n\"quoted.name\" = 5\n";
    vec![
        ("config-xml", of_xml, vec![site.into(), "<configuration/>".into()]),
        ("config-toml", of_toml, vec![toml.into(), "a = { b = 1.5, c = true }".into()]),
    ]
}

fn of_xml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = 1 + text.matches('\n').count();
    match xml::parse(&text) {
        Ok(found) => assert!(found.iter().all(|raw| (1..=lines).contains(&raw.line))),
        Err(malformed) => assert!((1..=lines).contains(&malformed.line)),
    }
}

fn of_toml(data: &[u8]) {
    let _ = toml::parse(&String::from_utf8_lossy(data));
}
