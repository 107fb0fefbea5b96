//! Writes of the cells of one stripe to the replicas of a group.

use std::sync::Arc;

use erasure::{ReplicaIndex, Scheme};
use futures::future::{join, join_all};
use proto::datanode as dn;

use super::failure::StripeFailure;
use super::replica::{Calls, Outcome, Replica, all_or_failures};
use super::stripe::Pending;
use crate::Error;
use crate::datanode::Command;
use crate::write::chunk::Chunk;

/// The written chunks of a stripe that no PutBlock lists yet.
pub(super) struct Written(pub(super) Vec<(ReplicaIndex, dn::ChunkInfo)>);

/// Destination of the cells of a stripe.
pub(super) struct Cells {
    pub(super) calls: Arc<Calls>,
    pub(super) scheme: Scheme,
    pub(super) replicas: Arc<[Replica]>,
    /// Number of the stripe in the group, from 0.
    pub(super) number: u64,
}

impl Cells {
    /// Writes the cells of a stripe to all replicas that have one. No PutBlock lists them yet.
    pub(super) async fn write(self, pending: &mut Pending) -> Result<Written, StripeFailure> {
        let Pending { stripe, parity, .. } = pending;
        let first = self.scheme.data();
        let replicas = self.replicas.iter().zip(&stripe.cells);
        let sent_data = join_all(replicas.map(|(replica, cell)| self.write_cell(replica, cell)));
        let sent_parity = async {
            let cells = parity.get().await?;
            let replicas = self.replicas.iter().skip(first).zip(cells);
            let sent = join_all(replicas.map(|(replica, cell)| self.write_cell(replica, cell)));
            Ok::<_, Error>(sent.await)
        };
        let (sent_data, sent_parity) = join(sent_data, sent_parity).await;
        let sent_parity = sent_parity.map_err(StripeFailure::Fatal)?;
        all_or_failures(sent_data.into_iter().chain(sent_parity)).map(Written)
    }

    /// Writes the cell of one replica; returns its chunk.
    async fn write_cell(
        &self,
        replica: &Replica,
        cell: &Chunk,
    ) -> Outcome<(ReplicaIndex, dn::ChunkInfo)> {
        let info = dn::ChunkInfo {
            chunk_name: format!("{}_chunk_{}", self.calls.target.block.local, self.number + 1),
            offset: self.number * u64::from(self.scheme.chunk_size()),
            len: cell.len as u64,
            metadata: Vec::new(),
            checksum_data: cell.checksums.clone(),
            stripe_checksum: None,
        };
        let request = dn::WriteChunkRequestProto {
            block_id: replica.block_id,
            chunk_data: Some(info.clone()),
            data: None,
            block: None,
        };
        let command = Command {
            kind: dn::Type::WriteChunk,
            request_field: 17,
            response_field: 15,
            request: &request,
        };
        let calls = &self.calls;
        match calls.call::<_, dn::WriteChunkResponseProto>(replica, command, &cell.parts).await {
            Ok(_) => Ok((replica.index, info)),
            Err(failure) => Err((replica.node.clone(), failure)),
        }
    }
}
