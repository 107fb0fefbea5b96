//! Network schemas: Ozone's files, and rejected ones.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use topology::Schema;
use types::topology::Costs;

/// The result for a file with that content.
fn read(name: &str, text: &str) -> Result<Schema, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    fs::write(&file, text).unwrap();
    Schema::read(&file).map_err(|error| {
        let text = error.to_string();
        assert!(text.contains(&file.display().to_string()), "it names the file: {text}");
        error.fault.to_string()
    })
}

const DEFAULT: &str = include_str!("../src/schema/network-topology-default.xml");
const GROUPS: &str = include_str!("../src/schema/network-topology-nodegroup.xml");

#[test]
fn files_of_ozone_are_known_by_their_names_and_say_what_the_default_says() {
    let xml = Schema::read(Path::new("network-topology-default.xml")).unwrap();
    let yaml = Schema::read(Path::new("network-topology-default.yaml")).unwrap();
    let default = Schema::default();
    for schema in [&xml, &yaml, &default] {
        assert_eq!(schema.costs(), Costs::new([1, 1, 0]), "{schema:?}");
    }
    assert_eq!(
        (xml.default_place().as_str(), yaml.default_place().as_str()),
        ("/default-rack", "/rack")
    );
    let groups = Schema::read(Path::new("network-topology-nodegroup.xml")).unwrap();
    assert_eq!(groups.default_place(), "/default-rack/default-nodegroup");
    assert_eq!(groups.costs(), Costs::new([1, 1, 1, 0]));
}

#[test]
fn a_place_has_the_depth_of_the_schema_that_an_operator_named() {
    let groups = Schema::read(Path::new("network-topology-nodegroup.xml")).unwrap();
    assert_eq!(groups.check("/rack1/ng7"), Ok(()));
    let wrong = groups.check("/rack1").unwrap_err();
    assert_eq!((wrong.depth, wrong.expected), (1, 2));
    assert_eq!(Schema::default().check("/dc1/rack1"), Ok(()), "none was named");
}

#[test]
fn costs_and_layers_are_what_the_file_says() {
    let xml = GROUPS;
    let dear = xml.replacen("<cost>1</cost>", "<cost>7</cost>", 1);
    let dear = dear.replace("<prefix>ng</prefix>", "").replace("InnerNode", "INNERNODE");
    assert_eq!(read("a.xml", &dear).unwrap().costs(), Costs::new([7, 1, 1, 0]));
    let free = xml.replace("<cost>1</cost>", "");
    assert_eq!(read("a.xml", &free).unwrap().costs(), Costs::new([1, 1, 1, 0]));
    let yaml = "type: ROOT\ncost: 3\nsublayer:\n- type: INNER_NODE\n  prefix: r\n  cost: 2\n  sublayer:\n  - type: LEAF_NODE\n";
    assert_eq!(read("a.yaml", yaml).unwrap().costs(), Costs::new([3, 2, 0]));
    assert_eq!(read("a.yml", yaml).unwrap().costs(), Costs::new([3, 2, 0]));
}

#[test]
fn what_is_no_schema_is_refused_with_the_reason() {
    let xml = DEFAULT;
    let with = |from: &str, to: &str| {
        assert!(xml.contains(from), "{from}");
        read("a.xml", &xml.replacen(from, to, 1)).unwrap_err()
    };
    let layers = |s: &str| format!("<layers>{s}</layers>");
    for (from, to, reason) in [
        ("<configuration>", "<config>", "configuration"),
        ("<layoutversion>1<", "<layoutversion>2<", "layoutversion"),
        ("<layoutversion>1</layoutversion>", "", "layoutversion"),
        ("<cost>1</cost>", "<cost>-1</cost>", "positive number or 0"),
        ("<cost>1</cost>", "<cost>much</cost>", "much is not a number"),
        ("<type>Root</type>", "<type>Trunk</type>", "unsupported layer type Trunk"),
        ("<type>Root</type>", "<type>InnerNode</type>", "no ROOT layer"),
        ("<type>InnerNode</type>", "<type>Root</type>", "multiple ROOT layers"),
        ("<type>InnerNode</type>", "<type>Leaf</type>", "multiple LEAF layers"),
        ("<type>Leaf</type>", "<type>InnerNode</type>", "no LEAF layer"),
        ("<type>Leaf</type>", "", "type"),
        ("<default>/default-rack</default>", "<weight>1</weight>", "weight"),
        ("id=\"node\"", "id=\"rack\"", "repetitive layer rack"),
        ("/datacenter/rack/node", "/datacenter/rack", "path depth"),
        ("/datacenter/rack/node", "/datacenter/room/node", "no layer found for id room"),
        ("/datacenter/rack/node", "/rack/datacenter/node", "doesn't start with ROOT"),
        ("/datacenter/rack/node", "/datacenter/node/rack", "doesn't end with LEAF"),
        ("</topology>", "</topology><topology><path>/a</path></topology>", "topology"),
        ("</configuration>", "", ""),
    ] {
        let said = with(from, to);
        assert!(said.contains(reason), "{from} -> {to}: {said}");
    }
    let enforced = xml
        .replace("<enforceprefix>false", "<enforceprefix>true")
        .replace("<prefix>rack</prefix>", "<prefix></prefix>");
    assert!(read("a.xml", &enforced).unwrap_err().contains("prefix"));
    assert!(read("a.xml", "").unwrap_err().contains("empty"));
    let none = xml.replace(
        &xml[xml.find("<layers>").unwrap()..xml.find("</layers>").unwrap() + 9],
        &layers(""),
    );
    assert!(read("a.xml", &none).unwrap_err().contains("path depth"));
    for (yaml, reason) in [
        ("type: INNER_NODE\n", "no ROOT"),
        ("type: ROOT\n", "no LEAF"),
        ("type: ROOT\nsublayer:\n- type: LEAF_NODE\n", "no layer between"),
        ("type: ROOT\ncolour: red\n", "colour"),
        ("type: ROOT\nsublayer:\n- type: LEAF_NODE\n- type: LEAF_NODE\n", "more than one"),
        ("type: ROOT\nsublayer: [{sublayer: [{type: LEAF_NODE}]}]\n", "prefix"),
        ("type: ROOT\ncost: -3\n", "positive"),
        ("type: [\n", ""),
    ] {
        let said = read("a.yaml", yaml).unwrap_err();
        assert!(said.contains(reason), "{yaml}: {said}");
    }
    let missing = Schema::read(Path::new("/nowhere/schema.xml")).unwrap_err().to_string();
    assert!(missing.contains("ozone.scm.network.topology.schema.file: /nowhere/schema.xml"));
}
