//! Parsing of a client's frame: a pure function of its bytes.

use bytes::Bytes;

use crate::fault::Fault;
use crate::frame::{Malformed, at_end, next_message, next_part};
use crate::message::{
    CONTEXT, CallHeader, ConnectionContext, FINAL_PACKET, KIND_PROTOBUF, NO_CALL, NO_RETRY, PING,
    RequestHeader, SASL, SaslMessage,
};

/// The fields of a call that its response repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallId {
    pub(crate) number: i32,
    pub(crate) retry: i32,
    pub(crate) client: Bytes,
}

impl CallId {
    /// For frames without a call.
    pub(crate) fn none() -> Self {
        Self { number: NO_CALL, retry: NO_RETRY, client: Bytes::new() }
    }
}

/// A frame of a client.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    Context(ConnectionContext),
    Sasl(SaslMessage),
    Ping,
    Call {
        id: CallId,
        request: RequestHeader,
        body: Bytes,
        /// The client's caller context.
        context: Option<String>,
    },
}

/// A malformed frame, which ends its connection.
#[derive(Debug, PartialEq)]
pub(crate) struct Broken {
    /// The call, as far as known.
    pub(crate) id: CallId,
    pub(crate) fault: Fault,
}

/// Reads a frame.
pub(crate) fn parse(mut frame: Bytes) -> Result<Incoming, Broken> {
    let header: CallHeader = next_message(&mut frame).map_err(|e| Broken {
        id: CallId::none(),
        fault: Fault::undecodable_header(format!("RPC header does not decode: {e}")),
    })?;
    let id = CallId {
        number: header.call_id,
        retry: header.retry_count(),
        client: header.client_id.clone(),
    };
    let broken = |fault| Broken { id: id.clone(), fault };
    check(&header).map_err(|fault| broken(Fault::invalid_header(fault.to_string())))?;
    let undecodable = |e: Malformed| {
        broken(Fault::undecodable_header(format!("frame of call {}: {e}", header.call_id)))
    };
    match header.call_id {
        PING => Ok(Incoming::Ping),
        CONTEXT => next_message(&mut frame).map(Incoming::Context).map_err(undecodable),
        SASL => next_message(&mut frame).map(Incoming::Sasl).map_err(undecodable),
        0.. => {
            let request = next_message(&mut frame).map_err(undecodable)?;
            let body = next_part(&mut frame).map_err(undecodable)?;
            at_end(&frame).map_err(undecodable)?;
            let context = header.caller_context.map(|c| c.context);
            Ok(Incoming::Call { id, request, body, context })
        }
        other => Err(broken(Fault::invalid_header(format!("unknown call id {other}")))),
    }
}

/// An unsupported header.
#[derive(Debug, thiserror::Error)]
enum HeaderFault {
    #[error("RPC header lacks kind or operation")]
    Incomplete,
    #[error("unknown RPC operation {0}")]
    Operation(i32),
    #[error("RPC kind {0} is not served, only protobuf is")]
    Kind(i32),
}

fn check(header: &CallHeader) -> Result<(), HeaderFault> {
    match (header.kind, header.operation) {
        (Some(KIND_PROTOBUF), Some(FINAL_PACKET)) => Ok(()),
        (None, _) | (_, None) => Err(HeaderFault::Incomplete),
        (Some(KIND_PROTOBUF), Some(operation)) => Err(HeaderFault::Operation(operation)),
        (Some(kind), _) => Err(HeaderFault::Kind(kind)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ErrorCode;
    use crate::frame::{LENGTH, encode};

    fn header(call_id: i32) -> CallHeader {
        CallHeader {
            kind: Some(KIND_PROTOBUF),
            operation: Some(FINAL_PACKET),
            call_id,
            client_id: Bytes::from_static(b"0123456789abcdef"),
            retry_count: Some(0),
            caller_context: None,
        }
    }

    fn call() -> Bytes {
        let request = RequestHeader { method: "m".into(), protocol: "p".into(), version: 1 };
        let body = RequestHeader { method: "body".into(), ..RequestHeader::default() };
        encode(&[&header(7), &request, &body]).freeze().split_off(LENGTH)
    }

    #[test]
    fn the_bytes_of_a_java_client_are_understood() {
        // The connection context of `ozone sh volume info`, client id and user replaced.
        let mut frame = vec![0x1a, 8, 2, 0x10, 0, 0x18, 5, 0x22, 16];
        frame.extend_from_slice(b"0123456789abcdef");
        frame.extend_from_slice(&[0x28, 1, 10, 0x12, 6, 0x0a, 4]);
        frame.extend_from_slice(b"root");
        frame.extend_from_slice(&[0x1a, 0]);
        let Ok(Incoming::Context(context)) = parse(Bytes::from(frame)) else {
            panic!("no context");
        };
        assert_eq!(context.user.unwrap().effective.unwrap(), "root");
        assert_eq!(context.protocol.unwrap(), "");
    }

    #[test]
    fn headers_that_make_no_sense_end_the_connection() {
        let cases = [
            (CallHeader { kind: Some(1), ..header(0) }, ErrorCode::FatalInvalidHeader),
            (CallHeader { kind: None, ..header(0) }, ErrorCode::FatalInvalidHeader),
            (CallHeader { operation: Some(2), ..header(0) }, ErrorCode::FatalInvalidHeader),
            (header(-17), ErrorCode::FatalInvalidHeader),
            (header(CONTEXT), ErrorCode::FatalDeserializingRequest),
            (header(3), ErrorCode::FatalDeserializingRequest),
        ];
        for (header, code) in cases {
            let frame = encode(&[&header]).freeze().split_off(LENGTH);
            let broken = parse(frame).unwrap_err();
            assert_eq!((broken.fault.code, broken.id.number), (code, header.call_id));
        }
    }

    #[test]
    fn a_call_is_its_body_to_the_last_byte() {
        assert!(matches!(parse(call()), Ok(Incoming::Call { id, .. }) if id.number == 7));
        let mut longer = call().to_vec();
        longer.push(0);
        assert!(parse(Bytes::from(longer)).is_err());
        for end in 0..call().len() {
            assert!(parse(call().slice(..end)).is_err(), "cut at {end}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(bytes: Vec<u8>) {
            let _ = parse(Bytes::from(bytes));
        }

        #[test]
        fn flipped_bits_do_no_harm(at in any::<proptest::sample::Index>(), mask in 1_u8..) {
            let mut bytes = call().to_vec();
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
            let _ = parse(Bytes::from(bytes));
        }
    }
}
