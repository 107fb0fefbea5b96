//! ReadBlock: a range of a block as a stream of pieces with their own checksums. The client
//! requests more than it needs at the moment; the next piece is read when the one before is sent.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures::Stream;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, ReadBlockResponseProto,
};
use tonic::Status;
use types::BlockId;

use crate::command::answer::success;
use crate::command::{Failure, Refusal, check_replica, part};
use crate::daemon::Daemon;
use crate::node::Node;
use crate::settings::MAX_CHUNK;
use containerstore::Piece;

/// Length of a piece if the client sends none.
const PIECE: u32 = 1 << 20;

/// Ranges still to be sent.
struct Rest {
    node: Arc<Node>,
    frame: ContainerCommandResponseProto,
    peer: Option<IpAddr>,
    block: BlockId,
    at: u64,
    end: u64,
    most: u64,
}

/// Returns the requested pieces. A reader ignores result codes here: an error ends the stream.
pub(super) fn read_block(
    daemon: Arc<Daemon>,
    request: ContainerCommandRequestProto,
    peer: Option<IpAddr>,
) -> impl Stream<Item = Result<ContainerCommandResponseProto, Status>> + Send {
    let received = Instant::now();
    let kind = proto::datanode::Type::ReadBlock;
    let measured = daemon.metrics.commands.of(Some(kind));
    let mut measured = measured.map(|method| method.owned_call(received));
    if let Some(measured) = &mut measured {
        measured.started();
    }
    let name = crate::command::name(Some(kind));
    let span = daemon.edge.request(name, request.trace_id.as_deref(), received).unwatched();
    let begin = (Some((daemon, request)), None, measured, span);
    futures::stream::try_unfold(begin, move |(begin, rest, mut measured, mut span)| async move {
        let mut rest = match (begin, rest) {
            (Some((daemon, request)), _) => Rest::new(&daemon, &request, peer)?,
            (None, Some(rest)) => rest,
            (None, None) => return Ok(None),
        };
        let Some(piece) = span.run(pin!(rest.next())).await? else {
            if let Some(measured) = measured.take() {
                measured.finish(true);
            }
            return Ok(None);
        };
        Ok(Some((rest.response(piece), (None, Some(rest), measured, span))))
    })
}

impl Rest {
    fn new(
        daemon: &Daemon,
        request: &ContainerCommandRequestProto,
        peer: Option<IpAddr>,
    ) -> Result<Self, Status> {
        let starting = || Status::unavailable(Refusal::Starting.to_string());
        let node = daemon.node().ok_or_else(starting)?.clone();
        let read = part(request.read_block.as_ref(), "readBlock").map_err(status)?;
        check_replica(&node.command_context(), &read.block_id).map_err(status)?;
        let end = match read.length() {
            0 => u64::MAX,
            length => read.offset.saturating_add(length),
        };
        let most = match read.response_data_size() {
            0 => PIECE,
            most => most.min(MAX_CHUNK as u32),
        };
        let block = BlockId::from_datanode(&read.block_id);
        let most = u64::from(most);
        Ok(Self { node, frame: success(request), peer, block, at: read.offset, end, most })
    }

    async fn next(&mut self) -> Result<Option<Piece>, Status> {
        let room = self.node.read_budget.acquire(self.most as usize, None).await;
        let _room = room.map_err(|refusal| Status::resource_exhausted(refusal.to_string()))?;
        let Self { block, at, end, most, .. } = *self;
        let wanted = (self.peer, block, at);
        let timeout = self.node.late_reads.timeout(&wanted);
        let piece = self.node.store.read_piece(block, at, end, most, timeout).await;
        let piece =
            piece.map_err(|error| status(self.node.late_reads.note(wanted, error).into()))?;
        if let Some(piece) = &piece {
            self.at = piece.offset.saturating_add(piece.data.len() as u64);
        }
        Ok(piece)
    }

    fn response(&self, piece: Piece) -> ContainerCommandResponseProto {
        let Piece { offset, data, checksum } = piece;
        let data: Bytes = data;
        ContainerCommandResponseProto {
            read_block: Some(ReadBlockResponseProto { checksum_data: checksum, offset, data }),
            ..self.frame.clone()
        }
    }
}

fn status(failure: Failure) -> Status {
    Status::internal(failure.to_string())
}
