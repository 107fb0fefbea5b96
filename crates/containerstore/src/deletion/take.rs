//! Taking deletion transactions from SCM.

use std::collections::BTreeMap;
use std::sync::Arc;

use container::deletion;
use metastore::{Batch, Durability};
use prost::Message;
use proto::scm_datanode::DeletedBlocksTransaction;
use types::ContainerId;

use super::DeletionResult;
use crate::containers::Container;
use crate::error::Result;
use crate::store::ContainerStore;
use crate::tables::{self, DELETE_TXNS};

impl ContainerStore {
    /// Stores transactions; those with an `Ok` outcome are durable and may be acknowledged. Blocks.
    pub fn delete_blocks(&self, transactions: &[DeletedBlocksTransaction]) -> Vec<DeletionResult> {
        let mut by_container: BTreeMap<ContainerId, Vec<&DeletedBlocksTransaction>> =
            BTreeMap::new();
        let mut results = Vec::with_capacity(transactions.len());
        let numbers = transactions.iter().filter_map(|tx| u64::try_from(tx.tx_id).ok());
        if let Some(newest) = numbers.max() {
            self.deletion_ages().note(newest);
        }
        for tx in transactions {
            match deletion::check(tx) {
                Ok(container) => by_container.entry(container).or_default().push(tx),
                Err(error) => results.push(DeletionResult {
                    tx_id: tx.tx_id,
                    container: ContainerId::from_wire(tx.container_id),
                    outcome: Err(error.into()),
                }),
            }
        }
        for (id, some) in by_container {
            let outcome = self.with_rows(id, |container| record(container, &some));
            results.extend(some.iter().map(|tx| DeletionResult {
                tx_id: tx.tx_id,
                container: id,
                outcome: outcome.clone(),
            }));
        }
        results
    }
}

/// The caller holds the commit lock.
fn record(container: &Arc<Container>, transactions: &[&DeletedBlocksTransaction]) -> Result<()> {
    let (id, disk) = (container.id(), container.disk());
    let mut sums = container.sums();
    let mut batch = Batch::new();
    for tx in transactions {
        let key = tables::tx_key(id, tx.tx_id);
        sums.delete_tx = deletion::highest(sums.delete_tx, tx);
        // SCM repeats it until it receives a response; transactions here already are not counted
        // twice.
        if !disk.db.contains(DELETE_TXNS, &key)? {
            sums.pending_delete += tx.local_id.len() as u64;
            batch.put(DELETE_TXNS, key, tx.encode_to_vec());
        }
    }
    sums.put_changed(container, &mut batch);
    disk.db.write(batch, Durability::Sync)?;
    container.set_sums(sums);
    if let Some(first) = transactions.iter().map(|tx| tx.tx_id).min() {
        disk.deleting.lock().add(id, first);
    }
    Ok(())
}
