//! The syntax of values.

use std::time::Duration;

use config::keys::datanode::HDDS_DATANODE_DIR;
use config::keys::hdds::{HDDS_HEARTBEAT_INTERVAL, OZONE_SCM_CONTAINER_SIZE};
use config::keys::om::OZONE_OM_ADDRESS;
use config::{ByteSize, Configuration, HostPort};

fn set(key: &str, value: &str) -> Option<Configuration> {
    Configuration::default().try_with(key, value).ok()
}

#[test]
fn sizes_are_powers_of_1024_with_or_without_a_unit() {
    let cases = [
        ("0", Some(0)),
        ("1024", Some(1024)),
        ("5GB", Some(5 << 30)),
        ("16 kb", Some(16 << 10)),
        ("4m", Some(4 << 20)),
        ("1.5MiB", Some(3 << 19)),
        ("2T", Some(2 << 40)),
        ("7b", Some(7)),
        ("", Some(5 << 30)),
        ("GB", None),
        ("-1", None),
        ("1XB", None),
        ("99999999999GB", None),
        ("nan", None),
    ];
    for (text, expected) in cases {
        let found = set(OZONE_SCM_CONTAINER_SIZE.name(), text)
            .map(|c| c.get(&OZONE_SCM_CONTAINER_SIZE).bytes());
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn a_size_is_shown_in_its_largest_whole_unit() {
    let cases = [(0, "0B"), (1023, "1023B"), (1024, "1KB"), (3 << 19, "1536KB"), (5 << 30, "5GB")];
    for (bytes, expected) in cases {
        assert_eq!(ByteSize(bytes).to_string(), expected);
    }
}

#[test]
fn durations_have_a_unit_or_are_milliseconds() {
    let ms = |n| Some(Duration::from_millis(n));
    let cases = [
        ("250", ms(250)),
        ("100ms", ms(100)),
        ("30s", ms(30_000)),
        ("5 m", ms(300_000)),
        ("1.5h", ms(5_400_000)),
        ("7d", ms(604_800_000)),
        ("10us", Some(Duration::from_micros(10))),
        ("soon", None),
        ("-1s", None),
        ("1e400s", None),
    ];
    for (text, expected) in cases {
        let found =
            set(HDDS_HEARTBEAT_INTERVAL.name(), text).map(|c| c.get(&HDDS_HEARTBEAT_INTERVAL));
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn addresses_take_the_port_of_the_default_when_they_name_none() {
    let cases = [
        ("om:1", Some(("om", 1))),
        ("om", Some(("om", 9862))),
        ("[::1]:5", Some(("::1", 5))),
        ("::1", Some(("::1", 9862))),
        ("http://om:9/", Some(("om", 9))),
        ("om:0", Some(("om", 0))),
        ("om:70000", None),
        ("om:", None),
        (":5", None),
        ("o m:5", None),
    ];
    for (text, expected) in cases {
        let found = set(OZONE_OM_ADDRESS.name(), text).map(|c| c.get(&OZONE_OM_ADDRESS));
        assert_eq!(found, expected.map(|(host, port)| HostPort::new(host, port)), "{text:?}");
    }
}

#[test]
fn one_connects_to_a_wildcard_address_by_loopback() {
    assert_eq!(HostPort::new("0.0.0.0", 1).connect().to_string(), "127.0.0.1:1");
    assert_eq!(HostPort::new("::", 1).connect().to_string(), "[::1]:1");
    assert_eq!(HostPort::new("om", 1).connect().to_string(), "om:1");
}

#[test]
fn directories_may_carry_a_storage_type_or_a_scheme() {
    let conf = set(HDDS_DATANODE_DIR.name(), "/d1, [SSD]/d2,[archive]file:///d3,").unwrap();
    let dirs: Vec<String> = conf
        .get(&HDDS_DATANODE_DIR)
        .iter()
        .map(|dir| format!("{} {}", dir.storage_type, dir.path.display()))
        .collect();
    assert_eq!(dirs, ["DISK /d1", "SSD /d2", "ARCHIVE /d3"]);
    for wrong in ["[RAM_DISK]/d1", "[SSD]", "[SSD/d1", "[]/d1"] {
        assert!(set(HDDS_DATANODE_DIR.name(), wrong).is_none(), "{wrong}");
    }
}
