//! The gRPC endpoint: Ozone's `XceiverClientProtocolService` on the STANDALONE port.
//!
//! Clients send one command a stream; several on one stream are answered in order. Only ReadBlock
//! has more than one answer.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use proto::datanode::read_chunk_response_proto::ResponseData;
use proto::datanode::xceiver_client_protocol_service_server::XceiverClientProtocolService;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, DataBuffers, ReadChunkVersion,
    Result as ResultCode, Type,
};
use tonic::{Request, Response, Status, Streaming};

use crate::command::{Answer, Command, Failure};
use crate::daemon::Daemon;

/// Answers gRPC calls.
pub(crate) struct XceiverService {
    daemon: Arc<Daemon>,
}

impl XceiverService {
    pub fn new(daemon: Arc<Daemon>) -> Self {
        Self { daemon }
    }
}

type Answers = Pin<Box<dyn Stream<Item = Result<ContainerCommandResponseProto, Status>> + Send>>;

#[tonic::async_trait]
impl XceiverClientProtocolService for XceiverService {
    type sendStream = Answers;

    async fn send(
        &self,
        request: Request<Streaming<ContainerCommandRequestProto>>,
    ) -> Result<Response<Self::sendStream>, Status> {
        let daemon = self.daemon.clone();
        let peer = request.remote_addr().map(|peer| peer.ip());
        let answers = request.into_inner().flat_map(move |message| {
            let daemon = daemon.clone();
            match message {
                Ok(request) if request.cmd_type == Type::ReadBlock as i32 => {
                    super::stream::read_block(daemon, request, peer).boxed()
                }
                message => {
                    let answered = async move { Ok(answer(&daemon, message?, peer).await) };
                    futures::stream::once(answered).boxed()
                }
            }
        });
        Ok(Response::new(Box::pin(answers)))
    }
}

/// Carries one command out. Every error is a response with a result code: the protocol has no other
/// way.
pub(super) async fn answer(
    daemon: &Daemon,
    request: ContainerCommandRequestProto,
    peer: Option<IpAddr>,
) -> ContainerCommandResponseProto {
    let version = read_version(&request);
    let frame = ContainerCommandRequestProto {
        cmd_type: request.cmd_type,
        trace_id: request.trace_id.clone(),
        ..Default::default()
    };
    // The caller's deadline ends the whole call, so it is not checked again.
    let command: Command = super::split_payload(Box::new(request), None, peer);
    let Answer { response, payload } = match super::serve(daemon, command, Instant::now()).await {
        Ok(answer) => answer,
        Err(refusal) => return refusal.to_failure().response(&frame),
    };
    match (Answer { response, payload: Bytes::new() }).decode() {
        Ok(response) => put_payload(response, payload, version),
        Err(error) => {
            Failure::new(ResultCode::ContainerInternalError, error.to_string()).response(&frame)
        }
    }
}

fn read_version(request: &ContainerCommandRequestProto) -> ReadChunkVersion {
    if let Some(read) = &request.read_chunk {
        return read.read_chunk_version();
    }
    request.get_small_file.as_ref().map_or(ReadChunkVersion::V0, |get| get.read_chunk_version())
}

/// Puts chunk bytes into the message, in the form that the client understands.
fn put_payload(
    mut response: ContainerCommandResponseProto,
    payload: Bytes,
    version: ReadChunkVersion,
) -> ContainerCommandResponseProto {
    let read = match (&mut response.read_chunk, &mut response.get_small_file) {
        (Some(read), _) => read,
        (None, Some(get)) => &mut get.data,
        (None, None) => return response,
    };
    read.response_data = Some(match version {
        ReadChunkVersion::V0 => ResponseData::Data(payload),
        ReadChunkVersion::V1 => ResponseData::DataBuffers(DataBuffers { buffers: vec![payload] }),
    });
    response
}
