//! Frames of a server: encoded by the server, decoded by the client.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::encode_varint;

use crate::fault::{ErrorCode, Exception, Fault};
use crate::frame::{
    LENGTH, Malformed, at_end, delimited, encode, frame_length, next_message, next_part,
};
use crate::incoming::CallId;
use crate::message::{ResponseHeader, ResponseStatus, SaslMessage};
use crate::{VERSION, write::OutFrame};

fn header(id: &CallId, status: ResponseStatus) -> ResponseHeader {
    ResponseHeader {
        // Two's complement, as Java writes it.
        call_id: id.number as u32,
        status: status as i32,
        version: Some(u32::from(VERSION)),
        client_id: Some(id.client.clone()),
        retry_count: Some(id.retry),
        ..ResponseHeader::default()
    }
}

/// A successful response: its bytes are not copied.
pub(crate) fn success(id: &CallId, body: Bytes) -> OutFrame {
    let header = header(id, ResponseStatus::Success);
    let head_length = header.encoded_len();
    let length = delimited(head_length) + delimited(body.len());
    let mut head = BytesMut::with_capacity(LENGTH + length - body.len());
    head.put_i32(frame_length(length));
    encode_varint(head_length as u64, &mut head);
    header.encode_raw(&mut head);
    encode_varint(body.len() as u64, &mut head);
    OutFrame { head: head.freeze(), body }
}

/// An error response.
pub(crate) fn failure(id: &CallId, fault: &Fault, ipc_package: &str) -> OutFrame {
    let fatal = fault.code.is_fatal();
    let status = if fatal { ResponseStatus::Fatal } else { ResponseStatus::Error };
    let header = ResponseHeader {
        exception: Some(fault.exception.full_name(ipc_package)),
        message: Some(fault.message.clone()),
        detail: Some(fault.code as i32),
        ..header(id, status)
    };
    OutFrame { head: encode(&[&header]).freeze(), body: Bytes::new() }
}

/// A step of authentication.
pub(crate) fn sasl(id: &CallId, message: &SaslMessage) -> OutFrame {
    let head = encode(&[&header(id, ResponseStatus::Success), message]).freeze();
    OutFrame { head, body: Bytes::new() }
}

/// The form that older clients understand: call −1, status −1, and the exception's class and text,
/// each with its length.
pub(crate) fn old_version_mismatch(client: u8, ipc_package: &str) -> OutFrame {
    let fault = Fault::ipc_version(client);
    let mut head = BytesMut::new();
    head.put_i32(-1);
    head.put_i32(-1);
    for text in [fault.exception.full_name(ipc_package), fault.message] {
        head.put_i32(frame_length(text.len()));
        head.put_slice(text.as_bytes());
    }
    OutFrame { head: head.freeze(), body: Bytes::new() }
}

/// A server's frame, as decoded by a client.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) call: i32,
    pub(crate) client: Bytes,
    pub(crate) result: Result<Bytes, Fault>,
}

/// Decodes a server's frame.
pub(crate) fn parse(mut frame: Bytes) -> Result<Response, Malformed> {
    let header: ResponseHeader = next_message(&mut frame)?;
    let result = if header.status == ResponseStatus::Success as i32 {
        Ok(next_part(&mut frame)?)
    } else {
        let fatal = header.status == ResponseStatus::Fatal as i32;
        let code = match ErrorCode::from_wire(header.detail.unwrap_or_default()) {
            code if code.is_fatal() == fatal => code,
            _ if fatal => ErrorCode::FatalUnknown,
            _ => ErrorCode::Application,
        };
        let class = header.exception.unwrap_or_else(|| "java.io.IOException".to_owned());
        Err(Fault {
            code,
            exception: Exception::Named(class.into()),
            message: header.message.unwrap_or_default(),
        })
    };
    at_end(&frame)?;
    Ok(Response {
        call: header.call_id as i32,
        client: header.client_id.unwrap_or_default(),
        result,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::{NO_RETRY, SASL, SaslState};

    fn id() -> CallId {
        CallId { number: 5, retry: 2, client: Bytes::from_static(b"0123456789abcdef") }
    }

    fn wire(frame: &OutFrame) -> Bytes {
        let bytes = [&frame.head[..], &frame.body[..]].concat();
        let length = i32::from_be_bytes(*bytes.first_chunk().unwrap()) as usize;
        assert_eq!(length, bytes.len() - LENGTH);
        Bytes::from(bytes).split_off(LENGTH)
    }

    #[test]
    fn responses_and_refusals_are_read_back() {
        let read = parse(wire(&success(&id(), Bytes::from_static(b"answer")))).unwrap();
        assert_eq!((read.call, read.client), (5, id().client));
        assert_eq!(read.result.unwrap(), "answer");
        let fault = Fault::busy("later");
        let read = parse(wire(&failure(&id(), &fault, "a.b"))).unwrap().result.unwrap_err();
        assert_eq!(read.code, ErrorCode::Server);
        assert_eq!(read.exception.full_name("-"), "a.b.RetriableException");
        let fatal = failure(&CallId::none(), &Fault::unauthorized("no"), "a.b");
        let read = parse(wire(&fatal)).unwrap();
        assert_eq!(read.call, -1);
        assert_eq!(read.result.unwrap_err().code, ErrorCode::FatalUnauthorized);
    }

    #[test]
    fn bytes_are_those_of_a_java_server() {
        let ok = SaslMessage { state: SaslState::Success as i32, ..SaslMessage::default() };
        let id = CallId { number: SASL, retry: NO_RETRY, client: Bytes::new() };
        let expected =
            b"\0\0\0\x12\x0e\x08\xdf\xff\xff\xff\x0f\x10\0\x18\x09\x3a\0\x40\x01\x02\x10\0";
        assert_eq!(&sasl(&id, &ok).head[..], expected);
        let old = old_version_mismatch(8, "org.apache.hadoop.ipc_").head;
        let mut expected = b"\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\x2a".to_vec();
        expected.extend_from_slice(b"org.apache.hadoop.ipc_.RPC$VersionMismatch\0\0\0\x3d");
        expected
            .extend_from_slice(b"Server IPC version 9 cannot communicate with client version 8");
        assert_eq!(&old[..], &expected[..]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(bytes: Vec<u8>, cut in any::<proptest::sample::Index>()) {
            let whole = wire(&success(&id(), Bytes::from(bytes.clone())));
            let cut = cut.index(whole.len());
            prop_assert!(parse(whole.slice(..cut)).is_err());
            let _ = parse(Bytes::from(bytes));
        }
    }
}
