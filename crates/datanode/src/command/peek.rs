//! Reads single fields of an encoded message without decoding the rest: the Raft path needs a
//! command's kind several times for each entry, and a full decode costs more than the response.

use proto::datanode::{Result as ResultCode, Type};

/// The kind of an encoded `ContainerCommandRequestProto`.
pub fn kind(header: &[u8]) -> Option<Type> {
    Type::try_from(varint_field(header, 1)? as i32).ok()
}

/// The container of an encoded `ContainerCommandRequestProto`.
pub fn container(header: &[u8]) -> Option<i64> {
    varint_field(header, 3).map(|value| value as i64)
}

/// The result of an encoded `ContainerCommandResponseProto`.
pub fn result(response: &[u8]) -> Option<ResultCode> {
    ResultCode::try_from(varint_field(response, 3)? as i32).ok()
}

/// The kind of an encoded `ContainerCommandResponseProto`.
pub fn response_kind(response: &[u8]) -> Option<Type> {
    Type::try_from(varint_field(response, 1)? as i32).ok()
}

/// The first value of the varint field `number`; other fields before it are skipped.
fn varint_field(mut bytes: &[u8], number: u64) -> Option<u64> {
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        match (tag >> 3, tag & 7) {
            (field, 0) => {
                let value = varint(&mut bytes)?;
                if field == number {
                    return Some(value);
                }
            }
            (_, 1) => bytes = bytes.get(8..)?,
            (_, 2) => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                bytes = bytes.get(length..)?;
            }
            (_, 5) => bytes = bytes.get(4..)?,
            _ => return None,
        }
    }
    None
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use proto::datanode::{ContainerCommandRequestProto, ContainerCommandResponseProto};

    use super::*;

    #[test]
    fn kind_and_result_are_found_without_decoding() {
        let request = ContainerCommandRequestProto {
            cmd_type: Type::PutSmallFile as i32,
            container_id: 7,
            ..Default::default()
        };
        assert_eq!(kind(&request.encode_to_vec()), Some(Type::PutSmallFile));
        assert_eq!(container(&request.encode_to_vec()), Some(7));
        let response = ContainerCommandResponseProto {
            cmd_type: 1,
            trace_id: Some("a trace".into()),
            result: ResultCode::BcsidMismatch as i32,
            ..Default::default()
        };
        assert_eq!(result(&response.encode_to_vec()), Some(ResultCode::BcsidMismatch));
    }

    /// Fields read without decoding equal those of a decoder, if the decoder accepts the message.
    #[test]
    fn any_bytes_have_the_fields_that_decoding_finds_or_none() {
        let read = |data: &[u8]| {
            let _ = (kind(data), container(data));
            if let Ok(request) = ContainerCommandRequestProto::decode(data) {
                let bytes = request.encode_to_vec();
                assert_eq!(kind(&bytes), Type::try_from(request.cmd_type).ok());
                assert_eq!(container(&bytes), Some(request.container_id));
            }
            let _ = (result(data), response_kind(data));
        };
        let request = ContainerCommandRequestProto {
            cmd_type: Type::PutBlock as i32,
            trace_id: Some("a trace".into()),
            container_id: -1,
            ..Default::default()
        };
        testkit::fuzz(vec![("container-command", read, vec![request.encode_to_vec()])]);
    }

    #[test]
    fn junk_has_no_kind() {
        for junk in [&b""[..], b"\x08", b"\xff", b"\x12\xff\xff\xff\xff\x0f", b"\x08\x63"] {
            assert_eq!(kind(junk), None, "{junk:?}");
        }
    }
}
