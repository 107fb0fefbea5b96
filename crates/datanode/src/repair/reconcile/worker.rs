//! A replica that is reconciled, peer after peer.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use container::merkle::{self, BlockDifference, DifferenceKind};
use proto::datanode::BlockMerkleTree;
use proto::scm_datanode as wire;
use rustc_hash::FxHashMap;
use types::{ContainerId, DatanodeDetails, LocalId, WireError};

use super::counts::Counts;
use super::error::{PeerError, ReconcileError};
use crate::repair::pace::RepairPace;
use crate::repair::push::Pusher;
use crate::repair::replica_source::ReplicaSource;
use crate::settings::MAX_CHUNK;
use containerstore::{Compared, ContainerStore, Disk, Pace, Reconcile, Reconciled};

/// Longest wait of a chunk for clients of the node that has it.
const PATIENCE_MS: u64 = 10_000;

/// An order of SCM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// The container.
    pub container: ContainerId,
    /// The nodes with the other replicas.
    pub peers: Vec<DatanodeDetails>,
}

impl Job {
    /// # Errors
    /// When the order names no container, or a node that is none.
    pub fn from_wire(order: &wire::ReconcileContainerCommandProto) -> Result<Self, WireError> {
        let container = match order.container_id {
            1.. => ContainerId::from_wire(order.container_id),
            id => {
                let message = "ReconcileContainerCommandProto";
                return Err(WireError::invalid(message, "containerID", id.to_string()));
            }
        };
        let peers = order.peers.iter().map(DatanodeDetails::from_wire).collect::<Result<_, _>>()?;
        Ok(Self { container, peers })
    }
}

/// Carries jobs out.
pub(crate) struct Worker<'a> {
    /// The disks.
    pub store: &'a ContainerStore,
    /// Connections to other nodes, and the limits on copies.
    pub pusher: &'a Pusher,
    /// Counts of results.
    pub counts: &'a Counts,
}

/// Result of a comparison with a peer.
#[derive(Default)]
struct Visit {
    /// The commit sequence id of its replica; `None` of one that is UNHEALTHY and may lack blocks.
    reached: Option<u64>,
    /// Blocks that may have been deleted here.
    lagging: u64,
    conflicts: Vec<LocalId>,
    /// Blocks that did not come.
    failed: Vec<LocalId>,
    /// Reason of the first failed block.
    reason: String,
}

impl Worker<'_> {
    /// Brings a replica to the union of all peers' data. Fetched blocks are durable when this
    /// returns, also if it fails.
    pub async fn run(&self, job: &Job) -> Result<Reconciled, ReconcileError> {
        let outcome = self.reconcile(job).await;
        let ended = if outcome.is_ok() { &self.counts.done } else { &self.counts.failed };
        ended.fetch_add(1, Ordering::Relaxed);
        outcome
    }

    async fn reconcile(&self, job: &Job) -> Result<Reconciled, ReconcileError> {
        let id = job.container;
        if job.peers.is_empty() {
            return Err(ReconcileError::NoPeers(id));
        }
        let _slot = self.pusher.slot().await?;
        let pace = ReadPace(self.pusher.pace());
        let mut replica = self.store.begin_reconcile(id, &pace).await?;
        let (mut visits, mut reasons) = (Vec::new(), Vec::new());
        for peer in &job.peers {
            let visited = match ReplicaSource::new(id, 0, peer, self.pusher) {
                Ok(source) => self.visit(&mut replica, &source).await,
                Err(error) => Err(error.into()),
            };
            match visited {
                Ok(visit) => visits.push((peer.id, visit)),
                Err(error) => {
                    tracing::warn!(container = %id, peer = %peer.id, %error, "peer skipped");
                    reasons.push(error.of(peer.id));
                }
            }
        }
        for (peer, visit) in &visits {
            reasons.extend(visit.outcome(&replica).err().map(|error| error.of(*peer)));
        }
        let compared = match visits.iter().filter_map(|(_, visit)| visit.reached).max() {
            _ if !reasons.is_empty() => Compared::NotWithAll,
            Some(reached) => Compared::WithSound(reached),
            None => Compared::WithDamaged,
        };
        let done = replica.finish(compared, &pace).await?;
        let Reconciled { blocks, bytes, checksum, repaired, damaged } = done;
        self.counts.blocks.fetch_add(blocks, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.counts.repaired.fetch_add(u64::from(repaired), Ordering::Relaxed);
        tracing::info!(
            container = %id, peers = job.peers.len(), blocks, bytes, ?checksum, repaired, damaged,
            "replica reconciled"
        );
        match reasons.is_empty() {
            true => Ok(done),
            false => Err(ReconcileError::Peers { container: id, reasons: reasons.join("; ") }),
        }
    }

    /// Fetches blocks of a peer that this replica lacks.
    async fn visit(
        &self,
        replica: &mut Reconcile<'_>,
        source: &ReplicaSource,
    ) -> Result<Visit, PeerError> {
        let size = source.size().await?;
        if !(size.is_closed || size.is_quasi_closed || size.is_damaged) {
            return Err(PeerError::NotClosed);
        }
        let tree = source.tree().await?;
        // The last one of an id counts, as in the comparison.
        let theirs: FxHashMap<_, _> =
            tree.block_merkle_tree.iter().map(|block| (block.block_id(), block)).collect();
        let reached = (!size.is_damaged).then_some(size.bcsid);
        let mut visit = Visit { reached, ..Visit::default() };
        for BlockDifference { local, kind } in merkle::compare(replica.tree(), &tree) {
            match kind {
                DifferenceKind::Conflicting => {
                    tracing::warn!(block = %local, peer = %source.node(), "block differs, skipped");
                    visit.conflicts.push(local);
                    continue;
                }
                DifferenceKind::Missing if size.delete_tx < replica.delete_tx() => {
                    visit.lagging = visit.lagging.saturating_add(1);
                    continue;
                }
                DifferenceKind::Missing | DifferenceKind::Incomplete => {}
            }
            let expected = theirs.get(&local.to_wire()).copied();
            match self.fetch(replica, source, local, expected).await {
                Ok(()) => {}
                Err(PeerError::Source(error)) if error.is_of_the_node() => {
                    return Err(PeerError::Source(error));
                }
                Err(error) => {
                    if visit.failed.is_empty() {
                        visit.reason = error.to_string();
                    }
                    visit.failed.push(local);
                }
            }
        }
        self.counts.conflicts.fetch_add(visit.conflicts.len() as u64, Ordering::Relaxed);
        Ok(visit)
    }

    /// Fetches one block.
    async fn fetch(
        &self,
        replica: &mut Reconcile<'_>,
        source: &ReplicaSource,
        local: LocalId,
        expected: Option<&BlockMerkleTree>,
    ) -> Result<(), PeerError> {
        let row = source.block(local).await?;
        let found = merkle::block(local, &row.chunks, &[]);
        if expected.is_none_or(|tree| tree.data_checksum != found.data_checksum) {
            return Err(PeerError::OtherBlock(local));
        }
        let mut block = replica.begin_block(local, row).await?;
        for chunk in block.chunks().to_vec() {
            if chunk.len > MAX_CHUNK as u64 {
                return Err(PeerError::LongChunk { local, len: chunk.len });
            }
            let data = source.read(local, &chunk, PATIENCE_MS).await?;
            self.pusher.pace().receive(data.len() as u64, None).await;
            block.write(data).await?;
        }
        tracing::info!(block = %local, bytes = block.length(), from = %source.node(), "block fetched from a peer");
        Ok(replica.put(block).await?)
    }
}

impl Visit {
    /// Returns an error unless all data of the peer is here, from any peer.
    fn outcome(&self, replica: &Reconcile<'_>) -> Result<(), PeerError> {
        let mut left = self.failed.iter().filter(|local| !replica.has_taken(**local));
        if let Some(first) = left.next().copied() {
            let (count, reason) = (left.count().saturating_add(1) as u64, self.reason.clone());
            return Err(PeerError::Blocks { count, first, reason });
        }
        if let Some(first) = self.conflicts.first().copied() {
            return Err(PeerError::Conflicts { count: self.conflicts.len() as u64, first });
        }
        match self.lagging {
            0 => Ok(()),
            some => Err(PeerError::Lags(some)),
        }
    }
}

/// Reads at the pace of repairs.
struct ReadPace<'a>(&'a RepairPace);

#[async_trait]
impl Pace for ReadPace<'_> {
    async fn pass(&self, _disk: &Disk, bytes: u64) {
        self.0.read(bytes, None).await;
    }
}
