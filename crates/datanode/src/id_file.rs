//! `datanode.id`: the identity of this DataNode and the ports it once got, in Ozone's YAML form.
//!
//! It is written by hand, so that a file of ours is byte for byte what Ozone's SnakeYAML would
//! write, and read by serde-saphyr. Unknown keys are tolerated, as Ozone does.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::Deserialize;
use serde_saphyr::options::DuplicateKeyPolicy;
use types::{DatanodeDetails, DatanodeId, OperationalState, PortName};

const TAG: &str =
    "!!org.apache.hadoop.ozone.container.common.helpers.DatanodeIdYaml$DatanodeDetailsYaml";

/// The largest file that is read, in bytes. Ozone's have some 500.
pub(crate) const MAX_BYTES: u64 = 64 << 10;

/// Errors of a `datanode.id` file.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// Not YAML, or of another shape. The text contains the position.
    #[error(transparent)]
    Yaml(#[from] Box<serde_saphyr::Error>),
    /// It is larger than any that Ozone writes.
    #[error("it has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// An invalid value of a key.
    #[error("{key}: {value:?} is not a valid value")]
    Value {
        /// The key.
        key: &'static str,
        /// The value in the file.
        value: String,
    },
    /// A key that must be there is not.
    #[error("{key} is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
}

/// Fields read from a file. Ozone's writer puts `null` for missing ones.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    uuid: Option<String>,
    host_name: Option<String>,
    ip_address: Option<String>,
    persisted_op_state: Option<String>,
    persisted_op_state_expiry_epoch_sec: Option<i64>,
    port_details: Option<BTreeMap<String, i64>>,
}

/// The text of a `datanode.id` for `node`. Keys stand in alphabetical order, as Ozone writes them.
pub fn render(node: &DatanodeDetails) -> String {
    let mut ports: Vec<_> = node.ports.iter().collect();
    ports.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
    let ports: String = ports.iter().map(|p| format!("  {}: {}\n", p.name, p.value)).collect();
    let port_details = if ports.is_empty() {
        "portDetails: {}\n".to_owned()
    } else {
        format!("portDetails:\n{ports}")
    };
    format!(
        "{TAG}\ncertSerialId: null\ncurrentVersion: {version}\nhostName: {host}\n\
         initialVersion: {version}\nipAddress: {ip}\npersistedOpState: {state}\n\
         persistedOpStateExpiryEpochSec: {expiry}\n{port_details}uuid: {id}\n",
        version = node.version,
        host = quote(&node.host),
        ip = quote(&node.ip),
        state = node.op_state.to_wire().as_str_name(),
        expiry = node.op_state_expiry,
        id = node.id,
    )
}

/// Reads the text of a `datanode.id`.
///
/// # Errors
/// When it is no such YAML, or `uuid` is missing or none.
pub fn parse(text: &str) -> Result<DatanodeDetails, YamlError> {
    if text.len() as u64 > MAX_BYTES {
        return Err(YamlError::TooLarge);
    }
    let options = serde_saphyr::options! {
        // SnakeYAML takes the last one.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        // One flat mapping and one below it, some values of keys that other releases have, and no
        // aliases.
        budget: serde_saphyr::budget! {
            max_depth: 16,
            max_nodes: 4096,
            max_events: 16_384,
            max_anchors: 0,
            max_aliases: 0,
            max_merge_keys: 0,
            max_documents: 1,
        },
    };
    let fields: Fields = serde_saphyr::from_str_with_options(text, options).map_err(Box::new)?;
    let id = fields.uuid.ok_or(YamlError::Missing { key: "uuid" })?;
    let id: DatanodeId = id.parse().map_err(|_| bad("uuid", &id))?;
    let (ip, host) = (fields.ip_address.unwrap_or_default(), fields.host_name.unwrap_or_default());
    let mut node = DatanodeDetails::new(id, ip, host);
    for (name, port) in fields.port_details.unwrap_or_default() {
        let port = u16::try_from(port).map_err(|_| bad("portDetails", &port.to_string()))?;
        node.set_port(PortName::from(name.as_str()), port);
    }
    if let Some(state) = fields.persisted_op_state {
        node.op_state = op_state(&state)?;
    }
    if let Some(expiry) = fields.persisted_op_state_expiry_epoch_sec {
        node.op_state_expiry = expiry;
    }
    Ok(node)
}

fn op_state(text: &str) -> Result<OperationalState, YamlError> {
    proto::hdds::NodeOperationalState::from_str_name(text)
        .map(|state| OperationalState::from_wire(state as i32))
        .ok_or_else(|| bad("persistedOpState", text))
}

fn bad(key: &'static str, value: &str) -> YamlError {
    YamlError::Value { key, value: value.to_owned() }
}

/// Words that YAML takes for something else than text.
const WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// Names and IPv4 addresses stand as they are. Everything else that YAML might take for a number, a
/// date or a mapping, as it does an IPv6 address, is quoted.
fn quote(text: &str) -> String {
    let named = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    if named || text.parse::<Ipv4Addr>().is_ok() {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn node() -> DatanodeDetails {
        let mut node = DatanodeDetails::new(DatanodeId::random(), "::1", "some-host");
        node.set_port(PortName::Standalone, 9859);
        node.set_port(PortName::Native, 41234);
        node.op_state = OperationalState::Decommissioning;
        node.op_state_expiry = 17;
        node
    }

    #[test]
    fn an_identity_survives_its_file() {
        let node = node();
        assert_eq!(parse(&render(&node)).unwrap(), node);
        let portless = DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", "h");
        assert_eq!(parse(&render(&portless)).unwrap(), portless);
    }

    #[test]
    fn any_text_is_an_identity_or_refused() {
        let read = |data: &[u8]| drop(parse(&String::from_utf8_lossy(data)));
        testkit::fuzz(vec![("datanode-id", read, vec![render(&node()).into_bytes()])]);
    }

    proptest! {
        #[test]
        fn any_host_and_ports_survive_the_file(
            host in "[ -~]{0,40}|null|Yes|1e5|0x10|2001-01-01|[0-9a-f:]{1,20}",
            ip in "[0-9]{1,3}(\\.[0-9]{1,3}){0,3}|[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,7}",
            ports in proptest::collection::vec(("[A-Z_]{1,12}", any::<u16>()), 0..12),
            expiry in any::<i64>(),
        ) {
            let mut node = DatanodeDetails::new(DatanodeId::random(), ip, host);
            for (name, port) in ports {
                node.set_port(PortName::from(name.as_str()), port);
            }
            node.op_state_expiry = expiry;
            let read = parse(&render(&node)).unwrap();
            let sorted = |node: &DatanodeDetails| {
                let mut ports = node.ports.clone();
                ports.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
                ports
            };
            prop_assert_eq!(sorted(&read), sorted(&node));
            let (read, node) = ((read.host, read.ip), (node.host, node.ip));
            prop_assert_eq!(read, node);
        }
    }

    #[test]
    fn what_is_written_has_ozones_bytes() {
        let mut node = node();
        node.id = "f2658398-05b3-4f16-9796-c5ba1605619e".parse().unwrap();
        let text = "!!org.apache.hadoop.ozone.container.common.helpers.DatanodeIdYaml$DatanodeDetailsYaml\n\
            certSerialId: null\ncurrentVersion: VERSION\nhostName: some-host\ninitialVersion: VERSION\nipAddress: '::1'\n\
            persistedOpState: DECOMMISSIONING\npersistedOpStateExpiryEpochSec: 17\nportDetails:\n  \
            STANDALONE: 9859\n  TRIOXIDE: 41234\nuuid: f2658398-05b3-4f16-9796-c5ba1605619e\n";
        assert_eq!(render(&node), text.replace("VERSION", &node.version.to_string()));
    }

    #[test]
    fn what_is_hostile_is_refused() {
        let id = "uuid: f2658398-05b3-4f16-9796-c5ba1605619e\n";
        assert!(parse(id).is_ok());
        let deep = format!("{id}extra: {}{}\n", "[".repeat(2000), "]".repeat(2000));
        let many = format!("{id}extra: [{}]\n", "1,".repeat(10_000));
        let alias = format!("a: &a [1]\nb: *a\n{id}");
        let second = format!("{id}---\n{id}");
        for text in [deep, many, alias, second] {
            assert!(matches!(parse(&text), Err(YamlError::Yaml(_))), "{}", &text[..60]);
        }
        let large = format!("{id}# {}\n", "x".repeat(MAX_BYTES as usize));
        assert!(matches!(parse(&large), Err(YamlError::TooLarge)));
    }

    #[test]
    fn a_file_written_by_ozone_is_read() {
        let text = "!!org.apache.hadoop.ozone.container.common.helpers.DatanodeIdYaml$DatanodeDetailsYaml\n\
            certSerialId: null\ncurrentVersion: 2\nhostName: dn1\ninitialVersion: 0\nipAddress: 10.0.0.7\n\
            persistedOpState: IN_SERVICE\npersistedOpStateExpiryEpochSec: 0\nportDetails:\n  REPLICATION: 9886\n  \
            RATIS: 9858\n  STANDALONE: 9859\nuuid: f2658398-05b3-4f16-9796-c5ba1605619e\n";
        let node = parse(text).unwrap();
        assert_eq!(node.id.to_string(), "f2658398-05b3-4f16-9796-c5ba1605619e");
        assert_eq!((node.ip.as_str(), node.host.as_str()), ("10.0.0.7", "dn1"));
        assert_eq!(node.port(&PortName::Ratis), Some(9858));
        assert_eq!(node.ports.len(), 3);
    }

    #[test]
    fn what_is_malformed_is_named() {
        let missing = parse("hostName: h\n");
        assert!(matches!(missing, Err(YamlError::Missing { key: "uuid" })));
        assert!(matches!(parse("uuid: x\n"), Err(YamlError::Value { key: "uuid", .. })));
        assert!(matches!(parse("nonsense\n"), Err(YamlError::Yaml(_))));
        let ports = "uuid: f2658398-05b3-4f16-9796-c5ba1605619e\nportDetails:\n  RATIS: ";
        let error = parse(&format!("{ports}many\n")).unwrap_err().to_string();
        assert!(error.contains("line 3"), "{error}");
        let port = parse(&format!("{ports}99999\n"));
        assert!(matches!(port, Err(YamlError::Value { key: "portDetails", .. })));
    }
}
