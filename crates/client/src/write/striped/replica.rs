//! The replicas of a block group, which are independent of each other.

use std::sync::Arc;
use std::time::Duration;

use erasure::{ReplicaIndex, Scheme};
use proto::datanode as dn;
use tokio::time::Instant;
use types::{BlockId, DatanodeDetails, Pipeline};

use super::failure::StripeFailure;
use crate::datanode::{Command, Datanodes, Failure, Target};
use crate::write::recover::{BUSY_TIMEOUT, MAX_RETRY_DELAY, MIN_RETRY_DELAY};
use crate::{Error, Result};

/// A replica of a group, and its node.
pub(super) struct Replica {
    pub(super) index: ReplicaIndex,
    pub(super) node: Arc<DatanodeDetails>,
    pub(super) block_id: dn::DatanodeBlockId,
}

impl Replica {
    /// The PutBlock of a replica without data.
    pub(super) fn empty_list(&self) -> dn::PutBlockRequestProto {
        let block_data = dn::BlockData {
            block_id: self.block_id,
            flags: None,
            metadata: Vec::new(),
            chunks: Vec::new(),
            size: None,
        };
        dn::PutBlockRequestProto { block_data, eof: None }
    }
}

/// Options of the calls to the replicas of one group.
pub(super) struct Calls {
    pub(super) datanodes: Datanodes,
    pub(super) target: Target,
    pub(super) timeout: Duration,
}

impl Calls {
    /// Calls a replica, and retries while it is busy.
    pub(super) async fn call<Q: prost::Message, A: prost::Message + Default>(
        &self,
        replica: &Replica,
        command: Command<'_, Q>,
        parts: &[bytes::Bytes],
    ) -> Result<A, Failure> {
        let (node, timeout) = (&*replica.node, self.timeout);
        let (started, mut delay) = (Instant::now(), MIN_RETRY_DELAY);
        loop {
            let command = Command { ..command };
            let call = self.datanodes.call(node, &self.target, command, parts.to_vec(), 0, timeout);
            match self.datanodes.watched(node, call).await {
                Err(Failure::Busy(_)) if started.elapsed() < BUSY_TIMEOUT => {
                    tokio::time::sleep(delay).await;
                    delay = (2 * delay).min(MAX_RETRY_DELAY);
                }
                outcome => return outcome.map(|(message, _)| message),
            }
        }
    }
}

/// Result of a call to a replica.
pub(super) type Outcome<T> = Result<T, (Arc<DatanodeDetails>, Failure)>;

/// All responses, or all failures: each failed replica is avoided afterwards.
pub(super) fn all_or_failures<T>(
    outcomes: impl IntoIterator<Item = Outcome<T>>,
) -> Result<Vec<T>, StripeFailure> {
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(value) => all.push(value),
            Err(failure) => failures.push(failure),
        }
    }
    match failures.is_empty() {
        true => Ok(all),
        false => Err(StripeFailure::Replicas(failures)),
    }
}

/// The replicas of a group in the order of their indexes, each exactly once.
pub(super) fn replicas(
    scheme: Scheme,
    pipeline: &Pipeline,
    block: BlockId,
) -> Result<Arc<[Replica]>> {
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
            let block_id = block.to_datanode(index.get().cast_signed());
            Ok(Replica { index, node: Arc::new(node.clone()), block_id })
        })
        .collect()
}
