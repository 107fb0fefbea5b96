//! Hadoop's XML.

use config::{ConfigError, Configuration, keys};

use crate::file;

#[test]
fn comments_entities_cdata_and_other_elements_are_read_as_hadoop_reads_them() {
    let text = "<?xml version=\"1.0\"?>\n<!-- about -->\n<configuration>\n\
        <property>\n  <name> ozone.administrators </name>\n  <value> a&amp;b , <![CDATA[c<d]]> ,&#101;<!-- not this --></value>\n\
        <description>x <b>y</b> ${z}</description><final>true</final><tag>OM</tag>\n</property>\n\
        <property name=\"ozone.s3g.region.note\" value=\"&lt;1&gt;\"/>\n\
        <property><name>ozone.om.http.enabled</name></property>\n\
        <property><name>ozone.om.address</name><value/></property>\n</configuration>";
    let (_dir, path) = file("ozone-site.xml", text);
    let conf = Configuration::builder().file(&path).unwrap().build().unwrap();
    assert_eq!(conf.get(&keys::hdds::OZONE_ADMINISTRATORS), ["a&b", "c<d", "e"]);
    assert_eq!(conf.raw("ozone.s3g.region.note"), Some("<1>"));
    assert_eq!(
        conf.entry("ozone.administrators").unwrap().origin.to_string(),
        format!("{}:6", path.display())
    );
    assert!(!conf.is_set(&keys::om::OZONE_OM_HTTP_ENABLED));
}

#[test]
fn what_is_not_a_configuration_is_refused_with_its_line() {
    let cases = [
        (
            "<configuration>\n<property>\n<value>1</value></property></configuration>",
            3,
            "without a <name>",
        ),
        (
            "<configuration>\n<property><name>a</name>\n<value>1</wrong></property></configuration>",
            3,
            "",
        ),
        ("<configuration>\n\n<xi:include href=\"x.xml\"/></configuration>", 3, "xi:include"),
        ("\n<settings/>", 2, "expected <configuration>"),
        (
            "<configuration><property><name>a</name>\n<property></property></property></configuration>",
            2,
            "inside another",
        ),
        ("<configuration>\n<property><name>&nope;</name></property></configuration>", 2, "&nope;"),
        ("", 1, "expected <configuration>"),
        // Half written: missing keys must not take their defaults.
        ("<configuration>\n", 2, "before </configuration>"),
    ];
    for (text, line, part) in cases {
        let (_dir, path) = file("ozone-site.xml", text);
        match Configuration::builder().file(&path).unwrap_err() {
            ConfigError::Syntax { line: found, message, .. } => {
                assert_eq!(found, line, "{text}: {message}");
                assert!(message.contains(part), "{text}: {message}");
            }
            other => panic!("{text}: {other}"),
        }
    }
}
