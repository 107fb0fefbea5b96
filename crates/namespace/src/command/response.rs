//! Answers that went well.

use bytes::Bytes;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use proto::ozone::{OmResponse, Status, Type};

/// Fields of `OMResponse`.
const CMD_TYPE: u32 = 1;
const TRACE_ID: u32 = 2;
const SUCCESS: u32 = 3;
const STATUS: u32 = 5;

/// An empty successful answer to `command`.
pub(crate) fn ok(command: Type) -> OmResponse {
    OmResponse {
        cmd_type: command as i32,
        success: Some(true),
        status: Status::Ok as i32,
        ..OmResponse::default()
    }
}

/// [`ok`], encoded: the beginning of an answer that is not built as a message.
pub(crate) fn encode_ok(command: Type, trace_id: Option<&str>, out: &mut Vec<u8>) {
    encode_key(CMD_TYPE, WireType::Varint, out);
    encode_varint(command_number(command), out);
    if let Some(trace_id) = trace_id {
        encode_key(TRACE_ID, WireType::LengthDelimited, out);
        encode_varint(trace_id.len() as u64, out);
        out.extend_from_slice(trace_id.as_bytes());
    }
    encode_key(SUCCESS, WireType::Varint, out);
    encode_varint(1, out);
    encode_key(STATUS, WireType::Varint, out);
    encode_varint(Status::Ok as u64, out);
}

/// Encodes an answer for the client.
pub(crate) fn encode(mut answer: OmResponse, trace_id: Option<&str>) -> Bytes {
    answer.trace_id = trace_id.map(str::to_owned);
    Bytes::from(answer.encode_to_vec())
}

/// Number of bytes that [`encode_ok`] writes.
pub(crate) fn ok_len(command: Type, trace_id: Option<&str>) -> usize {
    // Each of the fields has a tag of one byte, two of them a value of one byte.
    let command = encoded_len_varint(command_number(command)).saturating_add(1);
    let trace = trace_id.map_or(0, |id| {
        encoded_len_varint(id.len() as u64).saturating_add(id.len()).saturating_add(1)
    });
    command.saturating_add(trace).saturating_add(4)
}

fn command_number(command: Type) -> u64 {
    i64::from(command as i32).cast_unsigned()
}

/// An answer to a partly successful request: the sub-message lists the parts.
pub(crate) fn partial(command: Type, status: Status, message: String) -> OmResponse {
    OmResponse {
        cmd_type: command as i32,
        success: Some(false),
        status: status as i32,
        message: Some(message),
        ..OmResponse::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_answer_is_that_of_the_message() {
        for (command, trace_id) in [
            (Type::LookupKey, None),
            (Type::ListKeysLight, Some("")),
            (Type::UnknownCommand, Some("trace")),
            (Type::GetKeyInfo, Some(&*"x".repeat(300))),
        ] {
            let mut message = ok(command);
            message.trace_id = trace_id.map(str::to_owned);
            let mut encoded = Vec::new();
            encode_ok(command, trace_id, &mut encoded);
            assert_eq!(encoded, message.encode_to_vec());
            assert_eq!(encoded.len(), ok_len(command, trace_id));
        }
    }
}
