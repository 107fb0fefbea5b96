//! Result of an answer, read from its first bytes: answers of the state machine come encoded, and
//! are not decoded only for metrics and audit.

use std::borrow::Cow;

use bytes::{Buf, Bytes};
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use proto::ozone::{OmResponse, Status};

/// Success, and the message when there is one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome<'a> {
    pub(crate) success: bool,
    pub(crate) message: Cow<'a, str>,
}

impl<'a> Outcome<'a> {
    /// Of a request that got no answer.
    pub(crate) fn failed() -> Self {
        Self { success: false, message: Cow::Borrowed("") }
    }

    /// Result of an encoded OMResponse. Only fields 1 to 5 are read; they come first.
    pub(crate) fn of(response: &'a Bytes) -> Self {
        let mut status = Status::Ok as i32;
        let mut success = true;
        let mut message: &[u8] = &[];
        let mut rest: &[u8] = response;
        while rest.has_remaining() {
            let Ok((field, wire)) = decode_key(&mut rest) else { break };
            match (field, wire) {
                (3, WireType::Varint) => success = decode_varint(&mut rest).is_ok_and(|v| v != 0),
                (4, WireType::LengthDelimited) => {
                    let Ok(length) = decode_varint(&mut rest) else { break };
                    let Some((text, after)) = rest.split_at_checked(length as usize) else { break };
                    message = text;
                    rest = after;
                }
                (5, WireType::Varint) => {
                    status = decode_varint(&mut rest).map_or(0, |v| v as i32);
                    break;
                }
                _ if field > 5 => break,
                _ => {
                    let context = DecodeContext::default();
                    if skip_field(wire, field, &mut rest, context).is_err() {
                        break;
                    }
                }
            }
        }
        Self {
            success: success && status == Status::Ok as i32,
            message: String::from_utf8_lossy(message),
        }
    }
}

/// An encoded refusal.
pub(crate) fn refusal(
    cmd_type: i32,
    trace_id: Option<String>,
    status: Status,
    message: String,
) -> Bytes {
    let response = OmResponse {
        cmd_type,
        trace_id,
        success: Some(false),
        status: status as i32,
        message: Some(message),
        ..OmResponse::default()
    };
    Bytes::from(response.encode_to_vec())
}

#[cfg(test)]
mod tests {
    use proto::ozone::Type;

    use super::*;

    #[test]
    fn the_outcome_is_read_off_the_encoded_answer() {
        let trace = Some("trace".to_owned());
        let bytes = refusal(
            Type::CreateKey as i32,
            trace,
            Status::BucketNotFound,
            "Bucket not found: v/b".to_owned(),
        );
        let outcome = Outcome::of(&bytes);
        assert_eq!(outcome, Outcome { success: false, message: "Bucket not found: v/b".into() });
        let ok = OmResponse {
            cmd_type: Type::CommitKey as i32,
            success: Some(true),
            status: Status::Ok as i32,
            leader_om_node_id: Some("om1".to_owned()),
            ..OmResponse::default()
        };
        assert!(Outcome::of(&Bytes::from(ok.encode_to_vec())).success);
        assert!(Outcome::of(&Bytes::from_static(&[0xff, 0xff])).success, "junk is not judged");
    }
}
