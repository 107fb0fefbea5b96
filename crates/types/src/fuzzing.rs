//! Fuzz targets for domain types from the wire.

use prost::Message;
use proto::hdds;

use crate::{DatanodeDetails, DatanodeId, Pipeline, ReplicationConfig};

/// The parsers, by name and with sample inputs.
pub fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    let node = DatanodeDetails::new(DatanodeId::default(), "host", "127.0.0.1");
    let replications =
        [&b"RATIS THREE"[..], b"EC rs-3-2-1024k", b"STAND_ALONE 1", b"EC xor-2-1-1k"];
    let pipeline = hdds::Pipeline {
        members: vec![node.to_wire()],
        r#type: Some(hdds::ReplicationType::Ratis as i32),
        ..Default::default()
    };
    vec![
        ("types-datanode", datanode, vec![node.to_wire().encode_to_vec()]),
        ("types-pipeline", pipeline_of, vec![pipeline.encode_to_vec()]),
        ("types-replication", replication, replications.map(<[u8]>::to_vec).to_vec()),
    ]
}

fn datanode(data: &[u8]) {
    if let Ok(wire) = hdds::DatanodeDetailsProto::decode(data)
        && let Ok(node) = DatanodeDetails::from_wire(&wire)
    {
        assert_eq!(DatanodeDetails::from_wire(&node.to_wire()).ok(), Some(node));
    }
}

fn pipeline_of(data: &[u8]) {
    if let Ok(wire) = hdds::Pipeline::decode(data)
        && let Ok(pipeline) = Pipeline::from_wire(&wire)
    {
        assert!(Pipeline::from_wire(&pipeline.to_wire()).is_ok());
    }
}

fn replication(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (kind, value) = text.split_once(' ').unwrap_or((&text, ""));
    if let Ok(replication) = ReplicationConfig::parse(kind, value) {
        let _ = replication.to_string();
    }
}

#[cfg(test)]
#[test]
fn any_bytes_are_a_domain_type_or_refused() {
    testkit::fuzz(targets());
}
