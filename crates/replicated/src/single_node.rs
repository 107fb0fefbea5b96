//! The transport of a group of one.

use bytes::Bytes;
use futures::future::BoxFuture;
use multiraft::{Frame, Target, Transport, TransportError};

/// A transport that reaches no other node.
pub(crate) struct SingleNode;

impl Transport for SingleNode {
    fn send(&self, to: &Target, _: Frame) {
        tracing::error!(node = %to.node, "a group of one has a message for another node");
    }

    fn send_snapshot(
        &self,
        to: &Target,
        _: Frame,
    ) -> BoxFuture<'static, Result<u64, TransportError>> {
        Box::pin(std::future::ready(Err(unreachable(to))))
    }

    fn fetch_payload(
        &self,
        to: &Target,
        _: Bytes,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        Box::pin(std::future::ready(Err(unreachable(to))))
    }
}

fn unreachable(to: &Target) -> TransportError {
    let detail = "this is a group of one".to_owned();
    TransportError::Unreachable { address: to.address.clone(), detail }
}
