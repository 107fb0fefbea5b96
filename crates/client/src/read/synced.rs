//! Reads of keys that are open for writing: synced data is readable.
//!
//! Ozone's clients report a sync to OM only if the last block is a different one than at the sync
//! before, so that OM may have an old length of it. The replicas have the current length.

use futures::stream::{FuturesUnordered, StreamExt};
use proto::datanode as dn;
use proto::ozone::{KeyInfo, KeyLocation};
use tokio::time::Instant;
use types::BlockId;

use super::block::{BlockReader, checked_chunks, source};
use super::retry::{REFRESH_DELAY, retry_timeout};
use crate::datanode::Command;
use crate::om::args::KeyPath;
use crate::{Client, Error, Result};

/// Metadata of a key whose writer has synced but not closed it.
const BEING_WRITTEN: &str = "hsyncClientId";

/// Returns `true` if the writer of a key has synced it and not closed it yet.
pub(crate) fn is_being_written(info: &KeyInfo) -> bool {
    info.metadata.iter().any(|pair| pair.key == BEING_WRITTEN)
}

/// Sets the current length of the last block of a key, and of the key, from its replicas.
///
/// # Errors
/// If no replica returns its length.
pub(super) async fn grow(client: &Client, path: &KeyPath, info: &mut KeyInfo) -> Result<()> {
    let options = client.options();
    let reader = BlockReader::new(client.datanodes().clone(), options);
    let (started, mut attempt) = (Instant::now(), 0);
    // Erasure-coded keys cannot be synced.
    while is_being_written(info) && info.ec_replication_config.is_none() {
        let list = info.key_location_list.last_mut();
        let Some(last) = list.and_then(|list| list.key_locations.last_mut()) else { break };
        let error = match reader.length(last).await {
            Ok((length, bcsid)) => {
                let grown = length.saturating_sub(last.length);
                info.data_size = info.data_size.saturating_add(grown);
                last.length = last.length.max(length);
                // Replicas with less data then return an error.
                let known = last.block_id.block_commit_sequence_id.unwrap_or(0);
                last.block_id.block_commit_sequence_id = Some(known.max(bcsid));
                break;
            }
            Err(error) => error,
        };
        tracing::debug!(key = %path, %error, attempt, "cannot read the length of the last block");
        let again = attempt < options.read_retries
            || started.elapsed() < retry_timeout(error.kind(), options);
        if !again {
            return Err(error);
        }
        if attempt > 0 {
            let pause = REFRESH_DELAY * (1 << attempt.min(5));
            tokio::time::sleep(pause.min(options.read_retry_interval)).await;
        }
        attempt += 1;
        *info = client.locate_key(path, true).await?;
    }
    Ok(())
}

impl BlockReader {
    /// Length of the longest replica of a block, and its commit sequence id. A sync is acknowledged
    /// when a majority has it in the log, and some of them may not have applied it yet: so all
    /// replicas are queried, and a late one is waited for until a majority has responded.
    async fn length(&self, location: &KeyLocation) -> Result<(u64, u64)> {
        let source = source(location, 0)?;
        let id = BlockId::from_wire(&location.block_id);
        let request = dn::GetBlockRequestProto { block_id: id.to_datanode(0) };
        let mut asked: FuturesUnordered<_> = source
            .nodes
            .iter()
            .map(|node| {
                let command = Command {
                    kind: dn::Type::GetBlock,
                    request_field: 13,
                    response_field: 12,
                    request: &request,
                };
                let call = self.datanodes.call::<_, dn::GetBlockResponseProto>(
                    node,
                    &source.target,
                    command,
                    Vec::new(),
                    0,
                    self.timeout,
                );
                async move {
                    let (reply, _) = call.await.map_err(|f| f.into_error(node.id))?;
                    let bcsid = reply.block_data.block_id.block_commit_sequence_id.unwrap_or(0);
                    let chunks = checked_chunks(id, node.id, reply.block_data, 0)?;
                    let end = chunks.last().map_or(0, |last| last.offset.saturating_add(last.len));
                    Ok::<_, Error>((end, bcsid))
                }
            })
            .collect();
        let majority = source.nodes.len() / 2 + 1;
        let mut longest: Option<(u64, u64)> = None;
        let (mut answers, mut failures) = (0, Vec::new());
        loop {
            let next = match answers >= majority {
                true => match tokio::time::timeout(self.late_after(0), asked.next()).await {
                    Ok(next) => next,
                    Err(_) => break,
                },
                false => asked.next().await,
            };
            match next {
                Some(Ok(found)) => {
                    answers += 1;
                    longest = longest.max(Some(found));
                }
                Some(Err(error)) => failures.push(error),
                None => break,
            }
        }
        longest.ok_or(Error::NoReplica { block: id, failures })
    }
}
