//! A DataNode: its identity and its addresses.

use std::fmt;

use proto::hdds;

use crate::ids::{uuid_from_wire, uuid_to_wire};
use crate::location::parts;
use crate::{DatanodeId, WireError};

/// The service on a port. Names on the wire are Ozone's, except [`PortName::Native`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PortName {
    /// The container protocol over gRPC.
    Standalone,
    /// Ratis' client protocol.
    Ratis,
    /// Ratis between servers.
    RatisServer,
    /// Ratis administration.
    RatisAdmin,
    /// Ratis data streams.
    RatisDatastream,
    /// Container replication between DataNodes.
    Replication,
    /// Status page and metrics.
    Http,
    /// Status page and metrics over TLS.
    Https,
    /// Hadoop RPC of the DataNode's client protocol.
    ClientRpc,
    /// Our framed port: container commands with separate payload, Raft messages, payload fetches.
    /// `TRIOXIDE` on the wire; never sent to clients of Apache Ozone.
    Native,
    /// An unknown name; kept so that it survives a round trip.
    Other(String),
}

impl PortName {
    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Standalone => "STANDALONE",
            Self::Ratis => "RATIS",
            Self::RatisServer => "RATIS_SERVER",
            Self::RatisAdmin => "RATIS_ADMIN",
            Self::RatisDatastream => "RATIS_DATASTREAM",
            Self::Replication => "REPLICATION",
            Self::Http => "HTTP",
            Self::Https => "HTTPS",
            Self::ClientRpc => "CLIENT_RPC",
            Self::Native => "TRIOXIDE",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for PortName {
    fn from(name: &str) -> Self {
        match name {
            "STANDALONE" => Self::Standalone,
            "RATIS" => Self::Ratis,
            "RATIS_SERVER" => Self::RatisServer,
            "RATIS_ADMIN" => Self::RatisAdmin,
            "RATIS_DATASTREAM" => Self::RatisDatastream,
            "REPLICATION" => Self::Replication,
            "HTTP" => Self::Http,
            "HTTPS" => Self::Https,
            "CLIENT_RPC" => Self::ClientRpc,
            "TRIOXIDE" => Self::Native,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A named port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Port {
    /// The service.
    pub name: PortName,
    /// TCP port.
    pub value: u16,
}

/// A DataNode's operational state, set by an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum OperationalState {
    /// In service.
    #[default]
    InService,
    /// Being prepared for maintenance.
    EnteringMaintenance,
    /// In maintenance: may be down for a while.
    InMaintenance,
    /// Being decommissioned.
    Decommissioning,
    /// Decommissioned.
    Decommissioned,
}

impl OperationalState {
    /// Converts to the wire's enum.
    pub fn to_wire(self) -> hdds::NodeOperationalState {
        match self {
            Self::InService => hdds::NodeOperationalState::InService,
            Self::EnteringMaintenance => hdds::NodeOperationalState::EnteringMaintenance,
            Self::InMaintenance => hdds::NodeOperationalState::InMaintenance,
            Self::Decommissioning => hdds::NodeOperationalState::Decommissioning,
            Self::Decommissioned => hdds::NodeOperationalState::Decommissioned,
        }
    }

    /// Converts from the wire; unknown values count as in service, as in Ozone.
    pub fn from_wire(state: i32) -> Self {
        match hdds::NodeOperationalState::try_from(state) {
            Ok(hdds::NodeOperationalState::EnteringMaintenance) => Self::EnteringMaintenance,
            Ok(hdds::NodeOperationalState::InMaintenance) => Self::InMaintenance,
            Ok(hdds::NodeOperationalState::Decommissioning) => Self::Decommissioning,
            Ok(hdds::NodeOperationalState::Decommissioned) => Self::Decommissioned,
            _ => Self::InService,
        }
    }
}

/// The announced `DatanodeVersion`: streaming block reads are supported (`STREAM_BLOCK_SUPPORT`).
pub const DATANODE_VERSION: i32 = 3;

/// A DataNode: its identity and its addresses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DatanodeDetails {
    /// Its id, created at its first start.
    pub id: DatanodeId,
    /// IP address as text.
    pub ip: String,
    /// Host name.
    pub host: String,
    /// Its ports.
    pub ports: Vec<Port>,
    /// Rack, e.g. `/default-rack`.
    pub network_location: String,
    /// Its operational state.
    pub op_state: OperationalState,
    /// Expiry of `op_state`, seconds since 1970; 0 is never.
    pub op_state_expiry: i64,
    /// Its `DatanodeVersion`.
    pub version: i32,
}

impl DatanodeDetails {
    /// A node in the default rack without ports.
    pub fn new(id: DatanodeId, ip: impl Into<String>, host: impl Into<String>) -> Self {
        Self {
            id,
            ip: ip.into(),
            host: host.into(),
            ports: Vec::new(),
            network_location: "/default-rack".to_owned(),
            op_state: OperationalState::InService,
            op_state_expiry: 0,
            version: DATANODE_VERSION,
        }
    }

    /// The port of that name.
    pub fn port(&self, name: &PortName) -> Option<u16> {
        self.ports.iter().find(|p| p.name == *name).map(|p| p.value)
    }

    /// Sets or replaces a port.
    pub fn set_port(&mut self, name: PortName, value: u16) {
        match self.ports.iter_mut().find(|p| p.name == name) {
            Some(port) => port.value = value,
            None => self.ports.push(Port { name, value }),
        }
    }

    /// `ip:port` to connect to; `None` if there is no such port.
    pub fn address(&self, name: &PortName) -> Option<String> {
        let port = self.port(name)?;
        Some(if self.ip.contains(':') {
            format!("[{}]:{port}", self.ip)
        } else {
            format!("{}:{port}", self.ip)
        })
    }

    /// Converts to the wire's message, with all three forms of the id.
    pub fn to_wire(&self) -> hdds::DatanodeDetailsProto {
        let uuid = uuid_to_wire(self.id.0);
        hdds::DatanodeDetailsProto {
            uuid: Some(self.id.to_string()),
            ip_address: self.ip.clone(),
            host_name: self.host.clone(),
            ports: self
                .ports
                .iter()
                .map(|p| hdds::Port { name: p.name.as_str().to_owned(), value: p.value.into() })
                .collect(),
            cert_serial_id: None,
            network_name: Some(self.id.to_string()),
            network_location: Some(self.network_location.clone()),
            persisted_op_state: Some(self.op_state.to_wire() as i32),
            persisted_op_state_expiry: Some(self.op_state_expiry),
            current_version: Some(self.version),
            uuid128: Some(uuid),
            // The root is level 1, the node is below its location.
            level: u32::try_from(parts(&self.network_location).count().saturating_add(2)).ok(),
            id: Some(hdds::DatanodeIdProto { uuid }),
        }
    }

    /// # Errors
    /// If all forms of the id are absent, or a port is out of range.
    pub fn from_wire(wire: &hdds::DatanodeDetailsProto) -> Result<Self, WireError> {
        const MESSAGE: &str = "DatanodeDetailsProto";
        let id = if let Some(id) = &wire.id {
            uuid_from_wire(&id.uuid)
        } else if let Some(uuid) = &wire.uuid128 {
            uuid_from_wire(uuid)
        } else {
            let text = wire
                .uuid
                .as_deref()
                .ok_or(WireError::Missing { message: MESSAGE, field: "uuid" })?;
            text.parse().map_err(|_| WireError::invalid(MESSAGE, "uuid", text))?
        };
        let ports = wire
            .ports
            .iter()
            .map(|p| {
                let value = u16::try_from(p.value)
                    .map_err(|_| WireError::invalid(MESSAGE, "ports", p.value))?;
                Ok(Port { name: PortName::from(p.name.as_str()), value })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            id: DatanodeId(id),
            ip: wire.ip_address.clone(),
            host: wire.host_name.clone(),
            ports,
            network_location: wire
                .network_location
                .clone()
                .unwrap_or_else(|| "/default-rack".to_owned()),
            op_state: wire.persisted_op_state.map(OperationalState::from_wire).unwrap_or_default(),
            op_state_expiry: wire.persisted_op_state_expiry.unwrap_or(0),
            version: wire.current_version.unwrap_or(0),
        })
    }
}

impl fmt::Display for DatanodeDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}/{})", self.id, self.host, self.ip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_survives_the_wire() {
        let mut node = DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", "localhost");
        node.set_port(PortName::Standalone, 9859);
        node.set_port(PortName::Native, 1);
        node.set_port(PortName::Native, 65535);
        node.set_port(PortName::Other("NEW".into()), 2);
        node.op_state = OperationalState::Decommissioning;
        assert_eq!(DatanodeDetails::from_wire(&node.to_wire()).unwrap(), node);
        assert_eq!(node.address(&PortName::Native).unwrap(), "127.0.0.1:65535");
        assert_eq!(node.address(&PortName::Http), None);
    }

    #[test]
    fn a_port_out_of_range_is_refused() {
        let node = DatanodeDetails::new(DatanodeId::random(), "::1", "h");
        let mut wire = node.to_wire();
        wire.ports.push(hdds::Port { name: "HTTP".into(), value: 70_000 });
        assert!(DatanodeDetails::from_wire(&wire).is_err());
    }
}
