//! Replication configurations.

use proto::hdds::EcReplicationConfig;
use serde_json::{Value, json};
use types::ReplicationConfig;

/// A replication in the format of Ozone's classes.
pub(crate) fn config(config: &ReplicationConfig) -> Value {
    match config {
        ReplicationConfig::Ratis(factor) => json!({
            "replicationFactor": factor.to_string(),
            "requiredNodes": factor.count(),
            "minimumNodes": 1,
            "replicationType": "RATIS",
        }),
        ReplicationConfig::StandAlone(factor) => json!({
            "replicationFactor": factor.to_string(),
            "requiredNodes": factor.count(),
            "minimumNodes": 1,
            "replicationType": "STAND_ALONE",
        }),
        ReplicationConfig::Ec(ec) => json!({
            "data": ec.data,
            "parity": ec.parity,
            "ecChunkSize": ec.chunk_size,
            "codec": ec.codec.to_string().to_ascii_uppercase(),
            "requiredNodes": ec.data + ec.parity,
            "minimumNodes": ec.data,
            "replicationType": "EC",
        }),
    }
}

/// The triple of the messages; null if it is invalid.
pub(crate) fn wire(kind: i32, factor: Option<i32>, ec: Option<&EcReplicationConfig>) -> Value {
    ReplicationConfig::from_wire(kind, factor, ec).map_or(Value::Null, |c| config(&c))
}
