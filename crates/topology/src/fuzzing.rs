//! Fuzz targets for network schemas and rack tables.

use crate::{schema, table};

/// The parsers, by name and with sample inputs.
pub fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    let racks = b"# hosts\n10.0.0.1 /r1\n\nhost2\tr2/\nodd\nthree words here\n".to_vec();
    let mut targets = schema::fuzzing::targets();
    targets.push(("topology-table", racks_of_hosts, vec![racks]));
    targets
}

fn racks_of_hosts(data: &[u8]) {
    drop(table::parse(&String::from_utf8_lossy(data)));
}

#[cfg(test)]
#[test]
fn any_text_is_a_topology_or_refused() {
    testkit::fuzz(targets());
}
