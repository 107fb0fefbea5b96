//! One block group being written.
//!
//! **Invariants.** A PutBlock is sent once every chunk of its stripe is acknowledged by every
//! replica that has one, so that a stripe that any replica lists is there on all. After a failure
//! nothing more is written to the group: its length is that of its acknowledged stripes.

use std::time::Duration;

use erasure::{ReplicaIndex, Scheme};
use futures::FutureExt;
use futures::future::{BoxFuture, join, join_all};
use proto::datanode as dn;
use proto::ozone::KeyLocation;
use tokio::time::Instant;
use types::{BlockId, DatanodeDetails, Pipeline};

use super::parity::Parity;
use crate::datanode::{Command, Datanodes, Failure, Target, invalid_reply};
use crate::write::block::HANG_SHARE;
use crate::write::chunk::Chunk;
use crate::write::exclude::ExcludeList;
use crate::write::recover::{BUSY_TIMEOUT, MAX_RETRY_DELAY, MIN_RETRY_DELAY};
use crate::{Error, Result};

/// Metadata of a replica that says how many data bytes its group has.
const GROUP_LENGTH: &str = "blockGroupLen";

/// Why a stripe is not acknowledged.
pub(super) enum StripeFailure {
    /// These replicas failed: another block group may do.
    Replicas(Vec<(DatanodeDetails, Failure)>),
    /// Trying again will not help.
    Fatal(Error),
}

/// A replica of the group: where it is, and what it is told that it has.
struct Replica {
    index: ReplicaIndex,
    node: DatanodeDetails,
    /// The next PutBlock.
    put: dn::PutBlockRequestProto,
}

/// A block group being written.
pub(super) struct GroupWriter {
    datanodes: Datanodes,
    scheme: Scheme,
    location: KeyLocation,
    pipeline: Pipeline,
    target: Target,
    timeout: Duration,
    /// Something about it failed lately: there was no other.
    is_reluctant: bool,
    /// In order of their indexes.
    replicas: Vec<Replica>,
    /// Stripes that fit.
    capacity: u64,
    /// Stripes and bytes that are acknowledged.
    stripes: u64,
    length: u64,
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
            datanodes,
            scheme,
            location,
            pipeline,
            target,
            timeout,
            is_reluctant,
            replicas,
            capacity,
            stripes: 0,
            length: 0,
            ended: false,
        })
    }

    pub(super) fn id(&self) -> BlockId {
        self.target.block
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

    /// Writes a stripe and has it acknowledged by all replicas. `last` says that the key ends with
    /// it.
    pub(super) async fn write(
        &mut self,
        data: &[Chunk],
        parity: &mut Parity,
        last: bool,
    ) -> Result<(), StripeFailure> {
        let first = self.scheme.data();
        let this = &*self;
        let sent_data = join_all(
            this.replicas.iter().zip(data).map(|(replica, cell)| this.write_cell(replica, cell)),
        );
        let sent_parity = async {
            let cells = parity.get().await?;
            let replicas = this.replicas.iter().skip(first).zip(cells);
            let sent = join_all(replicas.map(|(replica, cell)| this.write_cell(replica, cell)));
            Ok::<_, Error>((cells, sent.await))
        };
        let (sent_data, sent_parity) = join(sent_data, sent_parity).await;
        let (parity, sent_parity) = sent_parity.map_err(StripeFailure::Fatal)?;
        let infos = sent_data.into_iter().chain(sent_parity);
        self.list(all_or_failures(infos)?, data, parity);
        let length = data.iter().map(|cell| cell.len as u64).sum::<u64>();
        let ended = last || self.stripes + 1 >= self.capacity;
        self.put(self.length + length, ended).await?;
        self.length += length;
        self.stripes += 1;
        self.ended = ended;
        Ok(())
    }

    /// Tells the replicas that the group has ended, if they do not know. All of it is acknowledged
    /// anyway.
    pub(super) async fn end(&mut self) {
        if self.ended || self.length == 0 {
            return;
        }
        self.ended = true;
        if let Err(StripeFailure::Replicas(failures)) = self.put(self.length, true).await {
            let nodes: Vec<_> = failures.iter().map(|(node, _)| node.id).collect();
            tracing::debug!(block = %self.target.block, ?nodes, "replicas do not know their end");
        }
    }

    /// What is acknowledged.
    pub(super) fn into_location(self) -> Option<KeyLocation> {
        (self.length > 0).then(|| KeyLocation {
            block_id: self.target.block.to_wire(),
            length: self.length,
            token: None,
            pipeline: None,
            ..self.location
        })
    }

    /// Adds the chunks of a stripe to the lists of the replicas that have one. The first replica
    /// and those with parity keep the checksums of the whole stripe.
    fn list(
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
                replica.put.block_data.chunks.push(info);
            }
        }
    }

    /// Writes the cell of one replica; returns the chunk that it is there.
    fn write_cell<'a>(
        &'a self,
        replica: &'a Replica,
        cell: &'a Chunk,
    ) -> BoxFuture<'a, Outcome<'a, (ReplicaIndex, dn::ChunkInfo)>> {
        let info = dn::ChunkInfo {
            chunk_name: format!("{}_chunk_{}", self.target.block.local, self.stripes + 1),
            offset: self.stripes * u64::from(self.scheme.chunk_size()),
            len: cell.len as u64,
            metadata: Vec::new(),
            checksum_data: cell.checksums.clone(),
            stripe_checksum: None,
        };
        async move {
            let request = dn::WriteChunkRequestProto {
                block_id: replica.put.block_data.block_id,
                chunk_data: Some(info.clone()),
                data: None,
                block: None,
            };
            let sent = while_busy(|| {
                let command = Command {
                    kind: dn::Type::WriteChunk,
                    request_field: 17,
                    response_field: 15,
                    request: &request,
                };
                let parts = cell.parts.clone();
                self.call::<_, dn::WriteChunkResponseProto>(replica, command, parts)
            });
            match sent.await {
                Ok(_) => Ok((replica.index, info)),
                Err(failure) => Err((&replica.node, failure)),
            }
        }
        .boxed()
    }

    /// Puts what the replicas list, those included that have nothing of the stripe.
    async fn put(&mut self, length: u64, eof: bool) -> Result<(), StripeFailure> {
        for replica in &mut self.replicas {
            replica.put.block_data.metadata = metadata(length);
            replica.put.eof = Some(eof);
        }
        let this = &*self;
        let puts = join_all(this.replicas.iter().map(|replica| this.put_block(replica)));
        all_or_failures(puts.await).map(drop)
    }

    fn put_block<'a>(&'a self, replica: &'a Replica) -> BoxFuture<'a, Outcome<'a, ()>> {
        async move {
            let put = while_busy(|| {
                let command = Command {
                    kind: dn::Type::PutBlock,
                    request_field: 12,
                    response_field: 11,
                    request: &replica.put,
                };
                self.call::<_, dn::PutBlockResponseProto>(replica, command, Vec::new())
            });
            match put.await.and_then(|reply| self.check(replica, &reply)) {
                Ok(()) => Ok(()),
                Err(failure) => Err((&replica.node, failure)),
            }
        }
        .boxed()
    }

    /// Checks that a replica acknowledged what it was told to put.
    fn check(&self, replica: &Replica, reply: &dn::PutBlockResponseProto) -> Result<(), Failure> {
        let committed = &reply.committed_block_length;
        let (block, ours) = (BlockId::from_datanode(&committed.block_id), self.target.block);
        if (block.container, block.local) != (ours.container, ours.local) {
            let message = format!("put block {ours}, acknowledged was {block}");
            return Err(invalid_reply(replica.node.id, message));
        }
        let expected: u64 = replica.put.block_data.chunks.iter().map(|chunk| chunk.len).sum();
        if u64::try_from(committed.block_length) != Ok(expected) {
            let message = format!(
                "put {expected} bytes of block {ours}, acknowledged were {}",
                committed.block_length
            );
            return Err(invalid_reply(replica.node.id, message));
        }
        Ok(())
    }

    fn call<Q: prost::Message, A: prost::Message + Default>(
        &self,
        replica: &Replica,
        command: Command<'_, Q>,
        parts: Vec<bytes::Bytes>,
    ) -> impl Future<Output = Result<A, Failure>> + Send + use<Q, A> {
        let (node, timeout) = (&replica.node, self.timeout);
        let call = self.datanodes.call(node, &self.target, command, parts, 0, timeout);
        let call = call.map(|reply| reply.map(|(message, _)| message));
        self.datanodes.watched(node, call)
    }
}

/// What a replica answered.
type Outcome<'a, T> = Result<T, (&'a DatanodeDetails, Failure)>;

/// All answers, or every failure among them: each failed replica is avoided afterwards.
fn all_or_failures<'a, T>(
    outcomes: impl IntoIterator<Item = Outcome<'a, T>>,
) -> Result<Vec<T>, StripeFailure> {
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(value) => all.push(value),
            Err((node, failure)) => failures.push((node.clone(), failure)),
        }
    }
    match failures.is_empty() {
        true => Ok(all),
        false => Err(StripeFailure::Replicas(failures)),
    }
}

/// Sends a request again while the DataNode says that it has too much to do.
async fn while_busy<T, F>(call: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let (started, mut delay) = (Instant::now(), MIN_RETRY_DELAY);
    loop {
        match call().await {
            Err(Failure::Busy(_)) if started.elapsed() < BUSY_TIMEOUT => {
                tokio::time::sleep(delay).await;
                delay = (2 * delay).min(MAX_RETRY_DELAY);
            }
            outcome => return outcome,
        }
    }
}

/// The replicas of a group in order of their indexes, each of which there is once.
fn replicas(scheme: Scheme, pipeline: &Pipeline, block: BlockId) -> Result<Vec<Replica>> {
    let members = || pipeline.members.iter().zip(&pipeline.replica_indexes);
    if pipeline.members.len() != scheme.total() {
        return Err(Error::om_reply(format!(
            "pipeline {} has {} members, {scheme} has {}",
            pipeline.id,
            pipeline.members.len(),
            scheme.total()
        )));
    }
    scheme
        .replicas()
        .map(|index| {
            let member = members().find(|(_, of_member)| **of_member == index.get());
            let (node, _) = member.ok_or_else(|| {
                let id = pipeline.id;
                Error::om_reply(format!("pipeline {id} has no member with replica index {index}"))
            })?;
            let block_data = dn::BlockData {
                block_id: block.to_datanode(index.get().cast_signed()),
                flags: None,
                metadata: Vec::new(),
                chunks: Vec::new(),
                size: None,
            };
            let put = dn::PutBlockRequestProto { block_data, eof: None };
            Ok(Replica { index, node: node.clone(), put })
        })
        .collect()
}

fn metadata(group_length: u64) -> Vec<dn::KeyValue> {
    let pair = |key: &str, value: String| dn::KeyValue { key: key.to_owned(), value: Some(value) };
    vec![pair("TYPE", "KEY".to_owned()), pair(GROUP_LENGTH, group_length.to_string())]
}
