//! One block group being written.
//!
//! **Invariants.** A PutBlock lists a stripe once every chunk of it, and of all stripes before, is
//! acknowledged by every replica that has one, so that a stripe that any replica lists is there on
//! all. PutBlocks are sent one after the other. After a failure nothing more is written to the
//! group: its length is that of its acknowledged stripes.

use std::sync::Arc;
use std::time::Duration;

use erasure::{ReplicaIndex, Scheme};
use proto::datanode as dn;
use proto::ozone::KeyLocation;
use types::{BlockId, DatanodeDetails, Pipeline};

use super::cells::{Cells, Written};
use super::put::Put;
use super::replica::{Calls, Replica, replicas};
use super::stripe::Pending;
use crate::datanode::{Datanodes, Failure, Target};
use crate::write::block::HANG_SHARE;
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

/// A block group being written.
pub(super) struct GroupWriter {
    calls: Arc<Calls>,
    scheme: Scheme,
    location: KeyLocation,
    pipeline: Pipeline,
    /// Something about it failed lately: there was no other.
    is_reluctant: bool,
    /// In order of their indexes.
    replicas: Arc<[Replica]>,
    /// What each of them is told next that it has; shared with the PutBlock on its way.
    lists: Vec<Arc<dn::PutBlockRequestProto>>,
    /// Stripes that fit.
    capacity: u64,
    /// Stripes that were begun.
    begun: u64,
    /// Bytes that the replicas list, or are being told to.
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
        let lists = replicas.iter().map(|replica| Arc::new(replica.empty_list())).collect();
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

    /// Whether it was opened although something about it failed lately.
    pub(super) fn is_reluctant(&self) -> bool {
        self.is_reluctant
    }

    /// Whether no more stripes fit.
    pub(super) fn is_full(&self) -> bool {
        self.begun >= self.capacity
    }

    /// The place of the next stripe.
    pub(super) fn next_cells(&mut self) -> Cells {
        let number = self.begun;
        self.begun += 1;
        let (calls, replicas) = (self.calls.clone(), self.replicas.clone());
        Cells { calls, scheme: self.scheme, replicas, number }
    }

    /// The PutBlock that makes written stripes, in their order, part of the group; the one before
    /// must have been acknowledged. `ends` says that no stripe comes behind them.
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

    /// Bytes that are acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
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

    /// What the replicas are to list now.
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
