//! Rows of the tables, for fuzzing.

use prost::Message;
use proto::hdds::KeyValue;
use proto::ozone::{KeyInfo, OmRequest, Type};

use crate::key::basic::BasicKey;
use crate::tables::parse_transaction_info;
use crate::upgrade::parse_prepared_info;
use crate::{audit, is_read, route};

/// The parsers, by name and with valid inputs.
pub fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    vec![
        ("namespace-key", key, keys()),
        ("namespace-numbers", numbers, vec![b"3#17".to_vec(), b"18446744073709551615#1".to_vec()]),
        ("namespace-request", request, requests()),
    ]
}

/// The reader without copies returns the same as the full decoder.
fn key(data: &[u8]) {
    let Ok(key) = BasicKey::parse(data) else { return };
    if let Ok(listed) = key.to_message()
        && let Ok(whole) = KeyInfo::decode(data)
        && whole.encode_to_vec() == data
    {
        assert_eq!(listed.key_name(), whole.key_name);
        assert_eq!((listed.data_size(), listed.is_file), (whole.data_size, whole.is_file));
    }
}

fn numbers(data: &[u8]) {
    let _ = (parse_transaction_info(data), parse_prepared_info(data));
}

/// Handles a request before it is authenticated.
fn request(data: &[u8]) {
    if let Ok(request) = OmRequest::decode(data) {
        let _ = (route(&request), is_read(&request), audit(&request));
    }
}

fn keys() -> Vec<Vec<u8>> {
    let info = KeyInfo {
        volume_name: "vol".into(),
        bucket_name: "bucket".into(),
        key_name: "dir/key".into(),
        data_size: 1 << 33,
        metadata: vec![KeyValue { key: "ETag".into(), value: Some("e".into()) }],
        owner_name: Some("ann".into()),
        is_file: Some(true),
        ..KeyInfo::default()
    };
    vec![info.encode_to_vec()]
}

fn requests() -> Vec<Vec<u8>> {
    let commands = [Type::CreateKey, Type::CommitKey, Type::ListKeys, Type::CreateVolume];
    let request = |command| OmRequest { cmd_type: command as i32, ..OmRequest::default() };
    commands.map(|command| request(command).encode_to_vec()).to_vec()
}

#[cfg(test)]
#[test]
fn any_bytes_are_a_row_or_refused() {
    testkit::fuzz(targets());
}
