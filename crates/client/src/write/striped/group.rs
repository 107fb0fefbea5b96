//! Writes of one block group.
//!
//! **Invariants.** A PutBlock lists a stripe once every chunk of it, and of all stripes before, is
//! acknowledged by every replica that has one, so that a stripe listed by any replica is on all of
//! them. PutBlocks are sent one after the other. After a failure nothing more is written to the
//! group: its length is that of its acknowledged stripes.

use std::sync::Arc;
use std::time::Duration;

use erasure::{ReplicaIndex, Scheme};
use proto::datanode as dn;
use proto::ozone::KeyLocation;
use types::{BlockId, Pipeline};

use super::cells::{Cells, Written};
use super::failure::StripeFailure;
use super::put::Put;
use super::replica::{Calls, Replica, replicas};
use super::stripe::Pending;
use crate::datanode::{Datanodes, Target};
use crate::exclude::ExcludeList;
use crate::write::block::HANG_SHARE;
use crate::{Error, Result};

/// Metadata of a replica with the data length of its group.
const GROUP_LENGTH: &str = "blockGroupLen";

/// Writer of a block group.
pub(super) struct GroupWriter {
    calls: Arc<Calls>,
    scheme: Scheme,
    location: KeyLocation,
    pipeline: Pipeline,
    /// Opened although it is on avoided nodes, because there was no other.
    is_reluctant: bool,
    /// In the order of their indexes.
    replicas: Arc<[Replica]>,
    /// The next PutBlock of each replica; shared with the one in flight.
    lists: Vec<Arc<dn::PutBlockRequestProto>>,
    /// Number of stripes that fit.
    capacity: u64,
    /// Number of stripes started.
    begun: u64,
    /// Bytes listed by the replicas or the PutBlock in flight.
    length: u64,
    /// Acknowledged bytes.
    acknowledged: u64,
    /// True if the replicas have received the end of the group.
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
            // Each replica is written to directly.
            pipeline: None,
            token: location.token.as_deref().map(crate::datanode::token_url),
        };
        let replicas = replicas(scheme, &pipeline, block)?;
        let lists = replicas.iter().map(|replica| Arc::new(replica.empty_list())).collect();
        // A node that does not respond for long hangs or is partitioned, and other nodes are
        // available at once, unless this group was opened although it is on avoided nodes.
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
            lists,
            capacity,
            begun: 0,
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

    /// Returns `true` if it was opened although it is on avoided nodes.
    pub(super) fn is_reluctant(&self) -> bool {
        self.is_reluctant
    }

    /// Returns `true` if no more stripes fit.
    pub(super) fn is_full(&self) -> bool {
        self.begun >= self.capacity
    }

    /// The destination of the next stripe.
    pub(super) fn next_cells(&mut self) -> Cells {
        let number = self.begun;
        self.begun += 1;
        let (calls, replicas) = (self.calls.clone(), self.replicas.clone());
        Cells { calls, scheme: self.scheme, replicas, number }
    }

    /// The PutBlock that adds written stripes, in order, to the group; the one before must have
    /// been acknowledged. `ends` marks the end of the group.
    pub(super) async fn list(
        &mut self,
        stripes: &mut [(Pending, Written)],
        ends: bool,
    ) -> Result<Put> {
        for (pending, Written(chunks)) in stripes {
            self.length += pending.data_len();
            let parity = pending.parity.get().await?;
            let cells = pending.stripe.cells.iter().chain(parity);
            let sums = cells.flat_map(|cell| &cell.checksums.checksums);
            let sums: Vec<u8> = sums.fold(Vec::new(), |mut all, sum| {
                all.extend_from_slice(sum);
                all
            });
            self.add_to_lists(std::mem::take(chunks), &sums.into());
        }
        self.ended = ends;
        Ok(self.put())
    }

    /// Acknowledged bytes.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Records acknowledged bytes.
    pub(super) fn acknowledge(&mut self, length: u64) {
        self.acknowledged = length;
    }

    /// Sends the end of the group to the replicas, if not sent yet. All data is acknowledged
    /// anyway.
    pub(super) async fn end(&mut self) {
        if self.ended || self.length == 0 {
            return;
        }
        self.ended = true;
        if let Err(StripeFailure::Replicas(failures)) = self.put().send().await {
            let nodes: Vec<_> = failures.iter().map(|(node, _)| node.id).collect();
            tracing::debug!(block = %self.id(), ?nodes, "cannot send the end of the group to all replicas");
        }
    }

    /// The location of the acknowledged data.
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
    /// and those with parity store the checksums of the whole stripe.
    fn add_to_lists(&mut self, chunks: Vec<(ReplicaIndex, dn::ChunkInfo)>, sums: &bytes::Bytes) {
        for (index, mut chunk) in chunks {
            if index == ReplicaIndex::FIRST || !self.scheme.is_data(index) {
                chunk.stripe_checksum = Some(sums.clone());
            }
            if let Some(list) = self.lists.get_mut(index.position()) {
                Arc::make_mut(list).block_data.chunks.push(chunk);
            }
        }
    }

    /// The current PutBlock of all replicas.
    fn put(&mut self) -> Put {
        for list in &mut self.lists {
            let list = Arc::make_mut(list);
            list.block_data.metadata = metadata(self.length);
            list.eof = Some(self.ended);
        }
        Put {
            calls: self.calls.clone(),
            replicas: self.replicas.clone(),
            lists: self.lists.clone(),
            length: self.length,
        }
    }
}

fn metadata(group_length: u64) -> Vec<dn::KeyValue> {
    let pair = |key: &str, value: String| dn::KeyValue { key: key.to_owned(), value: Some(value) };
    vec![pair("TYPE", "KEY".to_owned()), pair(GROUP_LENGTH, group_length.to_string())]
}
