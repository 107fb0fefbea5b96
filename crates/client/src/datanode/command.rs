//! The envelope of container commands, encoded and decoded field by field: the request and response
//! messages include every kind of command, and are more expensive to move than their content.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{self, WireType};
use proto::datanode::Result as ResultCode;
use types::DatanodeId;

use super::{Command, Failure, Target, invalid_reply};
use crate::Error;

/// `version` of Ozone's clients.
const VERSION: u64 = 3;

/// One encoded `ContainerCommandRequestProto`.
pub(super) fn encode<Q: Message>(
    node: DatanodeId,
    target: &Target,
    command: &Command<'_, Q>,
) -> Bytes {
    let length = command.request.encoded_len();
    let token = target.token.as_deref().unwrap_or_default();
    let mut out = BytesMut::with_capacity(length + token.len() + 128);
    put_varint(1, command.kind as u64, &mut out);
    if let Some(trace_id) = telemetry::current_trace_id() {
        put_bytes(2, trace_id.as_bytes(), &mut out);
    }
    put_varint(3, target.block.container.to_wire() as u64, &mut out);
    put_uuid(4, node.0, &mut out);
    if let Some(pipeline) = target.pipeline {
        put_uuid(5, pipeline.0, &mut out);
    }
    encoding::encode_key(command.request_field, WireType::LengthDelimited, &mut out);
    encoding::encode_varint(length as u64, &mut out);
    command.request.encode_raw(&mut out);
    if !token.is_empty() {
        put_bytes(23, token.as_bytes(), &mut out);
    }
    put_varint(24, VERSION, &mut out);
    out.freeze()
}

/// Decodes the part of a `ContainerCommandResponseProto` in `field`, or the DataNode's error.
pub(super) fn decode<A: Message + Default>(
    node: DatanodeId,
    field: u32,
    mut bytes: Bytes,
) -> Result<A, Failure> {
    let invalid = |e: prost::DecodeError| invalid_reply(node, e.to_string());
    let mut result = None;
    let mut message = String::new();
    let mut body = None;
    while bytes.has_remaining() {
        let (tag, wire) = encoding::decode_key(&mut bytes).map_err(invalid)?;
        match (tag, wire) {
            (3, WireType::Varint) => {
                let number = encoding::decode_varint(&mut bytes).map_err(invalid)?;
                let code = i32::try_from(number).ok().and_then(|n| ResultCode::try_from(n).ok());
                result = Some(code.unwrap_or(ResultCode::ContainerInternalError));
            }
            (4, WireType::LengthDelimited) => {
                message = String::from_utf8_lossy(&take(node, &mut bytes)?).into_owned();
            }
            (tag, WireType::LengthDelimited) if tag == field => {
                body = Some(A::decode(take(node, &mut bytes)?).map_err(invalid)?);
            }
            (tag, wire) => {
                encoding::skip_field(wire, tag, &mut bytes, Default::default()).map_err(invalid)?
            }
        }
    }
    match result {
        Some(ResultCode::Success) => Ok(body.unwrap_or_default()),
        Some(result) => Err(Failure::Refused(Error::Container { datanode: node, result, message })),
        None => Err(invalid_reply(node, "no result")),
    }
}

fn take(node: DatanodeId, bytes: &mut Bytes) -> Result<Bytes, Failure> {
    let length = encoding::decode_varint(bytes).map_err(|e| invalid_reply(node, e.to_string()))?;
    match usize::try_from(length) {
        Ok(length) if length <= bytes.len() => Ok(bytes.split_to(length)),
        _ => Err(invalid_reply(node, "a field is longer than the message")),
    }
}

fn put_varint(tag: u32, value: u64, out: &mut BytesMut) {
    encoding::encode_key(tag, WireType::Varint, out);
    encoding::encode_varint(value, out);
}

fn put_bytes(tag: u32, value: &[u8], out: &mut BytesMut) {
    encoding::encode_key(tag, WireType::LengthDelimited, out);
    encoding::encode_varint(value.len() as u64, out);
    out.put_slice(value);
}

fn put_uuid(tag: u32, id: uuid::Uuid, out: &mut BytesMut) {
    let mut text = uuid::Uuid::encode_buffer();
    put_bytes(tag, id.hyphenated().encode_lower(&mut text).as_bytes(), out);
}

#[cfg(test)]
mod tests {
    use proto::datanode as dn;
    use types::{BlockId, ContainerId, LocalId, PipelineId};

    use super::*;

    #[test]
    fn the_envelope_is_a_container_command() {
        let node = DatanodeId::random();
        let pipeline = PipelineId::random();
        let block = BlockId { container: ContainerId(7), local: LocalId(9), bcsid: 3 };
        let target = Target { block, pipeline: Some(pipeline), token: Some("tok".into()) };
        let request = dn::GetBlockRequestProto { block_id: block.to_datanode(0) };
        let command = Command {
            kind: dn::Type::GetBlock,
            request_field: 13,
            response_field: 12,
            request: &request,
        };
        let bytes = encode(node, &target, &command);
        let whole = dn::ContainerCommandRequestProto::decode(bytes).unwrap();
        assert_eq!(whole.cmd_type(), dn::Type::GetBlock);
        assert_eq!(whole.container_id, 7);
        assert_eq!(whole.datanode_uuid, node.to_string());
        assert_eq!(whole.pipeline_id, Some(pipeline.to_string()));
        assert_eq!(whole.encoded_token.as_deref(), Some("tok"));
        assert_eq!(whole.get_block, Some(request));
    }

    #[test]
    fn a_failure_keeps_code_and_words() {
        let reply = dn::ContainerCommandResponseProto {
            cmd_type: dn::Type::GetBlock as i32,
            result: ResultCode::ClosedContainerIo as i32,
            message: Some("closed".into()),
            ..Default::default()
        };
        let node = DatanodeId::random();
        let decoded = decode::<dn::GetBlockResponseProto>(node, 12, reply.encode_to_vec().into());
        let Err(Failure::Refused(Error::Container { result, message, .. })) = decoded else {
            panic!("{decoded:?}");
        };
        assert_eq!((result, message.as_str()), (ResultCode::ClosedContainerIo, "closed"));
    }
}
