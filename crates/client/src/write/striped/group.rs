//! One block group being written.
//!
//! **Invariants.** A PutBlock is sent once every chunk of its stripe is acknowledged by every
//! replica that has one, so that a stripe that any replica lists is there on all. PutBlocks are
//! sent one after the other. After a failure nothing more is written to the group: its length is
//! that of its acknowledged stripes.

use std::sync::Arc;
use std::time::Duration;

use erasure::{ReplicaIndex, Scheme};
use futures::future::{join, join_all};
use proto::datanode as dn;
use proto::ozone::KeyLocation;
use types::{BlockId, DatanodeDetails, Pipeline};

use super::parity::Parity;
use super::put::Put;
use super::replica::{Calls, Outcome, Replica, all_or_failures, replicas};
use crate::datanode::{Command, Datanodes, Failure, Target};
use crate::write::block::HANG_SHARE;
use crate::write::chunk::Chunk;
use crate::write::exclude::ExcludeList;
use crate::{Error, Result};

/// Metadata of a replica that says how many data bytes its group has.
const GROUP_LENGTH: &str = "blockGroupLen";

/// Replicas that failed, and how.
pub(super) type Failures = Vec<(Arc<DatanodeDetails>, Failure)>;

/// Why a stripe is not acknowledged.
pub(super) enum StripeFailure {
    /// These replicas failed: another block group may do.
    Replicas(Failures),
    /// Trying again will not help.
    Fatal(Error),
}

/// The chunks of a stripe that are there, and are in no list yet.
pub(super) struct Written(Vec<(ReplicaIndex, dn::ChunkInfo)>);

/// A block group being written.
pub(super) struct GroupWriter {
    calls: Arc<Calls>,
    scheme: Scheme,
    location: KeyLocation,
    pipeline: Pipeline,
    /// Something about it failed lately: there was no other.
    is_reluctant: bool,
    /// In order of their indexes.
    replicas: Vec<Replica>,
    /// Stripes that fit.
    capacity: u64,
    /// Stripes and bytes that the replicas list, or are being told to.
    stripes: u64,
    length: u64,
    /// Bytes that are acknowledged.
    acknowledged: u64,
    /// Whether the replicas know that no more comes.
    ended: bool,
}

impl GroupWriter {
    /// Opens the group at `location`; nothing is sent yet.
    pub(super) fn open(
        datanodes: Datanodes,
        scheme: Scheme,
        mut location: KeyLocation,
        excluded: &ExcludeList,
        timeout: Duration,
    ) -> Result<Self> {
        let wire = location.pipeline.take();
        let wire = wire.ok_or_else(|| Error::om_reply("a location without pipeline"))?;
        let pipeline = Pipeline::from_wire(&wire).map_err(|e| Error::om_reply(e.to_string()))?;
        let block = BlockId { bcsid: 0, ..BlockId::from_wire(&location.block_id) };
        let target = Target {
            block,
            // Each replica is written to by itself.
            pipeline: None,
            token: location.token.as_deref().map(crate::datanode::token_url),
        };
        let replicas = replicas(scheme, &pipeline, block)?;
        // A node that answers nothing for long hangs or is cut off, and other nodes are there at
        // once, unless this group was opened although something about it failed lately.
        let is_reluctant = excluded.avoids(&block, &pipeline);
        let timeout = match is_reluctant {
            true => timeout,
            false => timeout / HANG_SHARE,
        };
        let capacity = (location.length / u64::from(scheme.chunk_size())).max(1);
        Ok(Self {
            calls: Arc::new(Calls { datanodes, target, timeout }),
            scheme,
            location,
            pipeline,
            is_reluctant,
            replicas,
            capacity,
            stripes: 0,
            length: 0,
            acknowledged: 0,
            ended: false,
        })
    }

    pub(super) fn id(&self) -> BlockId {
        self.calls.target.block
    }

    pub(super) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Whether it was opened although something about it failed lately.
    pub(super) fn is_reluctant(&self) -> bool {
        self.is_reluctant
    }

    /// Whether no more stripes fit.
    pub(super) fn is_full(&self) -> bool {
        self.stripes >= self.capacity
    }

    /// Writes the cells of a stripe to all replicas that have one. Nothing lists them yet: the
    /// PutBlock of the stripe before may be on its way.
    pub(super) async fn write_cells(
        &self,
        data: &[Chunk],
        parity: &mut Parity,
    ) -> Result<Written, StripeFailure> {
        let first = self.scheme.data();
        let sent_data = join_all(
            self.replicas.iter().zip(data).map(|(replica, cell)| self.write_cell(replica, cell)),
        );
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

    /// The PutBlock that makes a written stripe one of the group's; the one before must have been
    /// acknowledged. `last` says that the key ends with it.
    pub(super) async fn list(
        &mut self,
        written: Written,
        data: &[Chunk],
        parity: &mut Parity,
        last: bool,
    ) -> Result<Put> {
        let parity = parity.get().await?;
        self.add_to_lists(written.0, data, parity);
        self.length += data.iter().map(|cell| cell.len as u64).sum::<u64>();
        self.stripes += 1;
        self.ended = last || self.is_full();
        Ok(self.put())
    }

    /// Remembers that so many bytes are acknowledged.
    pub(super) fn acknowledge(&mut self, length: u64) {
        self.acknowledged = length;
    }

    /// Tells the replicas that the group has ended, if they do not know. All of it is acknowledged
    /// anyway.
    pub(super) async fn end(&mut self) {
        if self.ended || self.length == 0 {
            return;
        }
        self.ended = true;
        if let Err(StripeFailure::Replicas(failures)) = self.put().send().await {
            let nodes: Vec<_> = failures.iter().map(|(node, _)| node.id).collect();
            tracing::debug!(block = %self.id(), ?nodes, "replicas do not know their end");
        }
    }

    /// What is acknowledged.
    pub(super) fn into_location(self) -> Option<KeyLocation> {
        (self.acknowledged > 0).then(|| KeyLocation {
            block_id: self.calls.target.block.to_wire(),
            length: self.acknowledged,
            token: None,
            pipeline: None,
            ..self.location
        })
    }

    /// Adds the chunks of a stripe to the lists of the replicas that have one. The first replica
    /// and those with parity keep the checksums of the whole stripe.
    fn add_to_lists(
        &mut self,
        infos: Vec<(ReplicaIndex, dn::ChunkInfo)>,
        data: &[Chunk],
        parity: &[Chunk],
    ) {
        let cells = data.iter().chain(parity);
        let sums = cells.flat_map(|cell| &cell.checksums.checksums);
        let all = sums.fold(Vec::new(), |mut all, sum| {
            all.extend_from_slice(sum);
            all
        });
        let all = bytes::Bytes::from(all);
        for (index, mut info) in infos {
            if index == ReplicaIndex::FIRST || !self.scheme.is_data(index) {
                info.stripe_checksum = Some(all.clone());
            }
            if let Some(replica) = self.replicas.get_mut(index.position()) {
                Arc::make_mut(&mut replica.put).block_data.chunks.push(info);
            }
        }
    }

    /// What the replicas are to list now.
    fn put(&mut self) -> Put {
        for replica in &mut self.replicas {
            let put = Arc::make_mut(&mut replica.put);
            put.block_data.metadata = metadata(self.length);
            put.eof = Some(self.ended);
        }
        let (calls, replicas) = (self.calls.clone(), self.replicas.clone());
        Put { calls, replicas, length: self.length }
    }

    /// Writes the cell of one replica; returns the chunk that it is there.
    async fn write_cell(
        &self,
        replica: &Replica,
        cell: &Chunk,
    ) -> Outcome<(ReplicaIndex, dn::ChunkInfo)> {
        let info = dn::ChunkInfo {
            chunk_name: format!("{}_chunk_{}", self.calls.target.block.local, self.stripes + 1),
            offset: self.stripes * u64::from(self.scheme.chunk_size()),
            len: cell.len as u64,
            metadata: Vec::new(),
            checksum_data: cell.checksums.clone(),
            stripe_checksum: None,
        };
        let request = dn::WriteChunkRequestProto {
            block_id: replica.put.block_data.block_id,
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

fn metadata(group_length: u64) -> Vec<dn::KeyValue> {
    let pair = |key: &str, value: String| dn::KeyValue { key: key.to_owned(), value: Some(value) };
    vec![pair("TYPE", "KEY".to_owned()), pair(GROUP_LENGTH, group_length.to_string())]
}
