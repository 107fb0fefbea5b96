//! Verification of the bytes of each replica of a block against their checksums.

use futures::future::{BoxFuture, join_all};
use futures::stream::{self, StreamExt};
use proto::datanode as dn;

use super::{BlockReplica, ReplicatedBlock, stripe_sums};
use crate::read::block::checked_chunks;
use crate::read::plan;
use crate::{Error, ErrorKind};

/// Number of requests in flight to one DataNode: one is transferred while the next is read from
/// disk.
const REQUESTS: usize = 4;

/// Maximum number of failures reported for one replica; a replica with more is lost anyway.
const MOST_FAILURES: usize = 8;

impl ReplicatedBlock {
    /// Reads all replicas, each from its DataNode alone, and compares them with their checksums;
    /// those of a block group also with the checksums of the stripes that their writer stored on
    /// the others. Returns the failures of each, in the order of `replicas`; none for an intact
    /// one.
    pub fn verify(&self) -> BoxFuture<'_, Vec<Vec<Error>>> {
        Box::pin(async move {
            let recorded = join_all(self.replicas.iter().map(BlockReplica::block_data)).await;
            let reads = self.replicas.iter().zip(&recorded).map(|(replica, recorded)| async move {
                match recorded {
                    Ok(data) => replica.verify(data).await,
                    // A replica that would consist of padding only has no data of the block.
                    Err(e) if e.kind() == ErrorKind::NotFound && replica.block.length == 0 => {
                        vec![]
                    }
                    Err(e) => vec![e.clone()],
                }
            });
            let mut failures = join_all(reads).await;
            if let Some(group) = self.group {
                let known = recorded.iter().enumerate().zip(&self.replicas);
                let known = known.filter_map(|((position, data), replica)| {
                    Some((position, (replica.index, data.as_ref().ok()?)))
                });
                let (positions, known): (Vec<usize>, Vec<(u32, &dn::BlockData)>) = known.unzip();
                for (number, position) in positions.into_iter().enumerate() {
                    let replica = self.replicas.get(position).zip(failures.get_mut(position));
                    let Some((replica, failures)) = replica else { continue };
                    let (block, datanode) = (self.id, replica.node.id);
                    let differences = stripe_sums::differences(group, number, &known);
                    failures.extend(differences.map(|message| Error::Corrupt {
                        block,
                        datanode,
                        message,
                    }));
                    failures.truncate(MOST_FAILURES);
                }
            }
            failures
        })
    }
}

impl BlockReplica {
    /// Reads the expected bytes of the block on this replica.
    async fn verify(&self, recorded: &dn::BlockData) -> Vec<Error> {
        let (block, length) = (self.block.id, self.block.length);
        let chunks = match checked_chunks(block, self.node.id, recorded.clone(), length) {
            Ok(chunks) => chunks,
            Err(error) => return vec![error],
        };
        let pieces = plan::plan(&chunks, 0..length, self.reader.most);
        let reads = pieces.into_iter().filter_map(|piece| {
            let chunk = chunks.get(piece.chunk)?;
            Some(async move {
                let read = self.reader.piece(&self.block, chunk, &piece).await;
                read.map(drop).map_err(|error| in_chunk(of_one(error), chunk))
            })
        });
        let mut reads = stream::iter(reads).buffered(REQUESTS);
        let mut failures = Vec::new();
        while let Some(read) = reads.next().await {
            let Err(error) = read else { continue };
            // Nothing more can be read from an unreachable replica.
            let goes_on = error.kind() == ErrorKind::Corrupt;
            failures.push(error);
            if !goes_on || failures.len() == MOST_FAILURES {
                break;
            }
        }
        failures
    }
}

/// The failure of the only replica read.
fn of_one(error: Error) -> Error {
    match error {
        Error::NoReplica { mut failures, block } => {
            failures.pop().unwrap_or(Error::NoReplica { block, failures: Vec::new() })
        }
        other => other,
    }
}

/// Adds the chunk with the differing bytes.
fn in_chunk(error: Error, chunk: &dn::ChunkInfo) -> Error {
    match error {
        Error::Corrupt { block, datanode, message } => {
            let message = format!("chunk at offset {}: {message}", chunk.offset);
            Error::Corrupt { block, datanode, message }
        }
        other => other,
    }
}
