//! PutBlock to all replicas of a group.

use std::sync::Arc;

use futures::future::join_all;
use proto::datanode as dn;
use types::BlockId;

use super::failure::StripeFailure;
use super::replica::{Calls, Outcome, Replica, all_or_failures};
use crate::datanode::{Command, Failure, invalid_reply};

/// The lists of a group's replicas at the time of the PutBlock.
pub(super) struct Put {
    pub(super) calls: Arc<Calls>,
    pub(super) replicas: Arc<[Replica]>,
    /// The list of each replica.
    pub(super) lists: Vec<Arc<dn::PutBlockRequestProto>>,
    /// Data bytes of the group, once this is acknowledged.
    pub(super) length: u64,
}

impl Put {
    /// Sends the lists, also to replicas that have nothing of the stripe; returns the resulting
    /// data bytes of the group.
    pub(super) async fn send(self) -> Result<u64, StripeFailure> {
        let replicas = self.replicas.iter().zip(&self.lists);
        let puts = join_all(replicas.map(|(replica, list)| self.put_block(replica, list))).await;
        all_or_failures(puts).map(|_| self.length)
    }

    async fn put_block(&self, replica: &Replica, list: &dn::PutBlockRequestProto) -> Outcome<()> {
        let command = Command {
            kind: dn::Type::PutBlock,
            request_field: 12,
            response_field: 11,
            request: list,
        };
        let reply = self.calls.call::<_, dn::PutBlockResponseProto>(replica, command, &[]).await;
        let checked = reply.and_then(|reply| self.check(replica, list, &reply));
        checked.map_err(|failure| (replica.node.clone(), failure))
    }

    /// Checks that a replica acknowledged the PutBlock.
    fn check(
        &self,
        replica: &Replica,
        list: &dn::PutBlockRequestProto,
        reply: &dn::PutBlockResponseProto,
    ) -> Result<(), Failure> {
        let committed = &reply.committed_block_length;
        let (block, ours) = (BlockId::from_datanode(&committed.block_id), self.calls.target.block);
        if (block.container, block.local) != (ours.container, ours.local) {
            let message = format!("put block {ours}, acknowledged was {block}");
            return Err(invalid_reply(replica.node.id, message));
        }
        let expected: u64 = list.block_data.chunks.iter().map(|chunk| chunk.len).sum();
        if u64::try_from(committed.block_length) != Ok(expected) {
            let message = format!(
                "put {expected} bytes of block {ours}, acknowledged were {}",
                committed.block_length
            );
            return Err(invalid_reply(replica.node.id, message));
        }
        Ok(())
    }
}
