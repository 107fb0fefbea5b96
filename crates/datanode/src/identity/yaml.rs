//! `datanode.id`: the identity of this DataNode and the ports it once got, in Ozone's YAML form.
//!
//! The file is a flat mapping with one nested mapping (`portDetails`); only that shape is read, so
//! a full YAML parser is not needed. Unknown keys are kept out but tolerated, as Ozone does.

use types::{DatanodeDetails, DatanodeId, OperationalState, PortName};

const TAG: &str =
    "!!org.apache.hadoop.ozone.container.common.helpers.DatanodeIdYaml$DatanodeDetailsYaml";

/// Why a `datanode.id` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// A line is no `key: value`.
    #[error("line {line}: expected `key: value`, found {text:?}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A key's value makes no sense.
    #[error("{key}: {value:?} is not a valid value")]
    Value {
        /// The key.
        key: &'static str,
        /// What stands there.
        value: String,
    },
    /// A key that must be there is not.
    #[error("{key} is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
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
/// When a line is malformed, or `uuid` is missing or none.
pub fn parse(text: &str) -> Result<DatanodeDetails, YamlError> {
    let mut node = DatanodeDetails::new(DatanodeId::default(), "", "");
    let mut id = None;
    let mut in_ports = false;
    for (number, raw) in text.lines().enumerate() {
        let line = raw.trim_end();
        let indented = line.starts_with(' ');
        let body = line.trim_start();
        if body.is_empty() || body.starts_with("!!") || body.starts_with('#') || body == "---" {
            continue;
        }
        let (key, value) = body
            .split_once(':')
            .ok_or_else(|| YamlError::Line { line: number + 1, text: raw.to_owned() })?;
        let value = unquote(value.trim());
        if indented && in_ports {
            let port = value.parse().map_err(|_| bad("portDetails", value))?;
            node.set_port(PortName::from(unquote(key)), port);
            continue;
        }
        in_ports = key == "portDetails";
        match key {
            "uuid" => id = Some(value.parse().map_err(|_| bad("uuid", value))?),
            "hostName" => node.host = value.to_owned(),
            "ipAddress" => node.ip = value.to_owned(),
            "persistedOpState" => node.op_state = op_state(value)?,
            "persistedOpStateExpiryEpochSec" => {
                node.op_state_expiry =
                    value.parse().map_err(|_| bad("persistedOpStateExpiryEpochSec", value))?;
            }
            _ => {}
        }
    }
    node.id = id.ok_or(YamlError::Missing { key: "uuid" })?;
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

/// An IPv6 address has colons, which YAML wants quoted.
fn quote(text: &str) -> String {
    if text.contains(':') || text.is_empty() { format!("'{text}'") } else { text.to_owned() }
}

fn unquote(text: &str) -> &str {
    let inner = |q: char| text.strip_prefix(q).and_then(|t| t.strip_suffix(q));
    inner('\'').or_else(|| inner('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
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
        assert_eq!(parse("hostName: h\n"), Err(YamlError::Missing { key: "uuid" }));
        assert!(matches!(parse("uuid: x\n"), Err(YamlError::Value { key: "uuid", .. })));
        assert!(matches!(parse("nonsense\n"), Err(YamlError::Line { line: 1, .. })));
        let port = parse("portDetails:\n  RATIS: 99999\n");
        assert!(matches!(port, Err(YamlError::Value { key: "portDetails", .. })));
    }
}
