//! Fuzz targets for frames of clients and servers.

use bytes::Bytes;

use crate::fault::Fault;
use crate::frame::{LENGTH, encode};
use crate::incoming::{self, CallId};
use crate::message::{CONTEXT, CallHeader, FINAL_PACKET, KIND_PROTOBUF, RequestHeader};
use crate::response;

/// The parsers, by name and with sample inputs.
pub fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    vec![("hadoop-rpc-request", request, requests()), ("hadoop-rpc-response", answer, answers())]
}

fn request(data: &[u8]) {
    drop(incoming::parse(Bytes::copy_from_slice(data)));
}

fn answer(data: &[u8]) {
    drop(response::parse(Bytes::copy_from_slice(data)));
}

fn requests() -> Vec<Vec<u8>> {
    let header = |call_id| CallHeader {
        kind: Some(KIND_PROTOBUF),
        operation: Some(FINAL_PACKET),
        call_id,
        client_id: Bytes::from_static(b"0123456789abcdef"),
        retry_count: Some(0),
        caller_context: None,
    };
    let request = RequestHeader { method: "submit".into(), protocol: "om".into(), version: 1 };
    let call = encode(&[&header(7), &request, &request]).split_off(LENGTH);
    let ping = encode(&[&header(-4)]).split_off(LENGTH);
    let context = encode(&[&header(CONTEXT), &request]).split_off(LENGTH);
    vec![call.to_vec(), ping.to_vec(), context.to_vec()]
}

fn answers() -> Vec<Vec<u8>> {
    let id = CallId { number: 5, retry: 2, client: Bytes::from_static(b"0123456789abcdef") };
    let frames = [
        response::success(&id, Bytes::from_static(b"answer")),
        response::failure(&id, &Fault::invalid_header("no kind".to_owned()), "org.example."),
    ];
    frames.iter().map(|frame| [&frame.head[LENGTH..], &frame.body[..]].concat()).collect()
}

#[cfg(test)]
#[test]
fn any_bytes_are_a_frame_or_refused() {
    testkit::fuzz(targets());
}
