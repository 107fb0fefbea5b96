//! Fuzz targets for requests of Ratis' clients.

use prost::Message;

use crate::common::{RaftClientRequestProto, RaftRpcRequestProto};
use crate::request::Request;

/// The parsers, by name and with sample inputs.
pub fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    vec![("ratis-request", request, requests())]
}

fn request(data: &[u8]) {
    let Ok(wire) = RaftClientRequestProto::decode(data) else { return };
    if let Ok(request) = Request::from_wire(wire) {
        assert!(request.size() <= data.len());
    }
}

fn requests() -> Vec<Vec<u8>> {
    let rpc = RaftRpcRequestProto {
        requestor_id: b"client-0123456789".to_vec().into(),
        call_id: 7,
        timeout_ms: 3000,
        ..Default::default()
    };
    vec![RaftClientRequestProto { rpc_request: Some(rpc), ..Default::default() }.encode_to_vec()]
}

#[cfg(test)]
#[test]
fn any_bytes_are_a_request_or_refused() {
    testkit::fuzz(targets());
}
