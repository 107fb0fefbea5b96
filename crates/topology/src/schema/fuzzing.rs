//! Fuzz targets for network schemas.

use super::{SHIPPED, xml, yaml};

/// The parsers, by name and with sample inputs.
pub(crate) fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    let shipped = |end: &str| {
        let files = SHIPPED.iter().filter(|(name, _)| name.ends_with(end));
        files.map(|(_, text)| text.as_bytes().to_vec()).collect()
    };
    vec![("topology-xml", of_xml, shipped(".xml")), ("topology-yaml", of_yaml, shipped(".yaml"))]
}

fn of_xml(data: &[u8]) {
    drop(xml::parse(&String::from_utf8_lossy(data)));
}

fn of_yaml(data: &[u8]) {
    drop(yaml::parse(&String::from_utf8_lossy(data)));
}
