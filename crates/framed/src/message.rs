//! Calls with protobuf messages on both sides.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;

use crate::{CallError, Client, Reply, Status};

/// Calls `method` with a message and decodes the response's message.
///
/// # Errors
/// As [`Client::call`], and if the response does not decode.
pub async fn call<Q: Message, A: Message + Default>(
    client: &Client,
    method: u16,
    request: &Q,
    timeout: Duration,
) -> Result<A, CallError> {
    let (answer, _) = call_with_payload(client, method, request, Bytes::new(), timeout).await?;
    Ok(answer)
}

/// Calls `method` with a message and a payload; returns both of the response.
///
/// # Errors
/// As [`call`].
pub async fn call_with_payload<Q: Message, A: Message + Default>(
    client: &Client,
    method: u16,
    request: &Q,
    payload: Bytes,
    timeout: Duration,
) -> Result<(A, Bytes), CallError> {
    let reply = client.call(method, request.encode_to_vec().into(), payload, timeout).await?;
    let answer = A::decode(reply.header).map_err(|e| CallError::Decode {
        address: client.address().clone(),
        reason: e.to_string(),
    })?;
    Ok((answer, reply.payload))
}

/// Decodes the message of a request.
///
/// # Errors
/// A status for the caller if the bytes are malformed.
pub fn decode<Q: Message + Default>(header: Bytes) -> Result<Q, Status> {
    Q::decode(header).map_err(|e| Status::invalid(format!("request does not decode: {e}")))
}

/// A response without payload.
pub fn reply(message: &impl Message) -> Reply {
    Reply { header: message.encode_to_vec().into(), payload: Bytes::new() }
}
