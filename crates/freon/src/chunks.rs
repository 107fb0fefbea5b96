//! Chunks that `dcg` writes and `dcv` reads, without keys of OM: their container, and their
//! positions in its blocks.

use bytes::Bytes;
use client::{DatanodeClient, ListContainers, ScmClient};
use config::Configuration;
use proto::datanode::{ChecksumData, ChecksumType, ChunkInfo};
use proto::hdds::{ContainerInfoProto, LifeCycleState};
use types::{BlockId, ContainerId, DatanodeDetails, LocalId, Pipeline, ReplicationConfig};

use crate::FreonError;
use crate::content::Content;

/// Blocks over which the chunks of a run are spread, as in Ozone.
pub(crate) const BLOCKS: u64 = 20;

/// Maximum number of chunks of a run: their blocks are put at the end, with a checksum for each
/// chunk.
pub(crate) const MAX_CHUNKS: u64 = 1_000_000;

/// Maximum size of a chunk, as in DataNodes.
pub(crate) const MAX_CHUNK_BYTES: u64 = 32 << 20;

/// Maximum size of one record of a block: several chunks form one record.
const MAX_RECORD_BYTES: u64 = 4 << 20;

/// Number of containers per request to SCM.
const LIST_PAGE: u32 = 1000;

/// The container of a run, and its pipeline.
pub(crate) struct Container {
    /// Clients of DataNodes, at least one.
    clients: Vec<DatanodeClient>,
    pub(crate) pipeline: Pipeline,
    pub(crate) id: ContainerId,
}

/// The owner of a run's container in SCM.
fn owner(prefix: &str) -> String {
    format!("freon-{prefix}")
}

impl Container {
    /// The open container of this prefix, or a new one.
    pub(crate) async fn to_write(
        prefix: &str,
        replication: ReplicationConfig,
        clients: usize,
        conf: &Configuration,
    ) -> Result<Self, FreonError> {
        let scm = ScmClient::connect(conf);
        let known = find(&scm, prefix).await?;
        let open = known.filter(|info| info.state() == LifeCycleState::Open);
        let id = match open {
            Some(info) => ContainerId::from_wire(info.container_id),
            None => scm.create_container(replication, &owner(prefix)).await?,
        };
        Self::open(&scm, id, clients, conf).await
    }

    /// The container written by a run with this prefix.
    pub(crate) async fn to_read(
        prefix: &str,
        clients: usize,
        conf: &Configuration,
    ) -> Result<Self, FreonError> {
        let scm = ScmClient::connect(conf);
        let Some(info) = find(&scm, prefix).await? else {
            let message = format!("dcg has created no container with the prefix {prefix}");
            return Err(FreonError::Usage(message));
        };
        Self::open(&scm, ContainerId::from_wire(info.container_id), clients, conf).await
    }

    /// A container by its id.
    pub(crate) async fn open(
        scm: &ScmClient,
        id: ContainerId,
        clients: usize,
        conf: &Configuration,
    ) -> Result<Self, FreonError> {
        let found = scm.container(id).await?;
        let pipeline = Pipeline::from_wire(&found.pipeline)
            .map_err(|e| FreonError::Usage(format!("container {id}: {e}")))?;
        if pipeline.members.is_empty() {
            return Err(FreonError::Usage(format!("container {id} has no DataNode")));
        }
        let clients = (0..clients.max(1)).map(|_| DatanodeClient::connect(conf)).collect();
        Ok(Self { clients, pipeline, id })
    }

    /// The client of a test.
    pub(crate) fn client(&self, number: u64) -> &DatanodeClient {
        &self.clients[(number % self.clients.len() as u64) as usize]
    }

    /// The DataNode from which a test reads.
    pub(crate) fn node(&self, number: u64) -> &DatanodeDetails {
        // There is a member: see `open`.
        &self.pipeline.members[(number % self.pipeline.members.len() as u64) as usize]
    }
}

/// The newest container of a prefix.
async fn find(scm: &ScmClient, prefix: &str) -> Result<Option<ContainerInfoProto>, FreonError> {
    let owner = owner(prefix);
    let (mut start, mut found) = (ContainerId::default(), None);
    loop {
        let list = ListContainers { start, count: LIST_PAGE, ..ListContainers::default() };
        let (page, _) = scm.list_containers(&list).await?;
        let Some(last) = page.last() else { return Ok(found) };
        let next = ContainerId(ContainerId::from_wire(last.container_id).0.saturating_add(1));
        let is_last = page.len() < LIST_PAGE as usize || next <= start;
        found = page.into_iter().rfind(|info| info.owner == owner).or(found);
        if is_last {
            return Ok(found);
        }
        start = next;
    }
}

/// Positions of chunks of one length in the blocks of a container.
#[derive(Clone)]
pub(crate) struct Layout {
    container: ContainerId,
    prefix: String,
    pub(crate) data: Bytes,
    checksum: Bytes,
}

impl Layout {
    pub(crate) fn new(container: ContainerId, prefix: &str, size: u64) -> Self {
        let data = Content::new(size).pieces().collect::<Vec<_>>().concat();
        // The checksum that DataNodes and readers of Ozone verify.
        let checksum = crc32(&data);
        Self { container, prefix: prefix.to_owned(), data: data.into(), checksum }
    }

    fn size(&self) -> u64 {
        self.data.len() as u64
    }

    /// The block of a chunk. Block numbers start at 1.
    pub(crate) fn block(&self, number: u64) -> BlockId {
        BlockId::new(self.container, LocalId(number % BLOCKS + 1))
    }

    /// A chunk of a block, by its number.
    pub(crate) fn chunk(&self, number: u64) -> ChunkInfo {
        self.record(number, (number / BLOCKS).saturating_mul(self.size()), 1)
    }

    /// A record of this number of consecutive chunks.
    fn record(&self, number: u64, offset: u64, chunks: u64) -> ChunkInfo {
        ChunkInfo {
            chunk_name: format!("{}_testdata_chunk_{number}", self.prefix),
            offset,
            len: self.size().saturating_mul(chunks),
            metadata: Vec::new(),
            checksum_data: ChecksumData {
                r#type: ChecksumType::Crc32 as i32,
                bytes_per_checksum: u32::try_from(self.size()).unwrap_or(u32::MAX),
                checksums: (0..chunks).map(|_| self.checksum.clone()).collect(),
            },
            stripe_checksum: None,
        }
    }

    /// Each block of the first `chunks` chunks with its records.
    pub(crate) fn blocks(&self, chunks: u64) -> Vec<(BlockId, Vec<ChunkInfo>)> {
        let of_record = (MAX_RECORD_BYTES / self.size().max(1)).max(1);
        let block = |first: u64| {
            let count = (chunks - first).div_ceil(BLOCKS);
            let starts = (0..count).step_by(usize::try_from(of_record).unwrap_or(usize::MAX));
            let records = starts.map(|start| {
                let offset = start.saturating_mul(self.size());
                self.record(first + start * BLOCKS, offset, of_record.min(count - start))
            });
            (self.block(first), records.collect())
        };
        (0..BLOCKS.min(chunks)).map(block).collect()
    }
}

fn crc32(data: &[u8]) -> Bytes {
    container::checksum::compute_slice(ChecksumType::Crc32, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_all_blocks_cover_every_chunk_once() {
        for (size, chunks) in [(1024, 45), (1024, 7), (3 << 20, 61), (1, 1)] {
            let layout = Layout::new(ContainerId(9), "run", size);
            let blocks = layout.blocks(chunks);
            let covered = |number: u64| {
                let (block, chunk) = (layout.block(number), layout.chunk(number));
                let records = blocks.iter().filter(|(id, _)| *id == block).flat_map(|(_, r)| r);
                let end = chunk.offset + chunk.len;
                records.filter(|r| r.offset <= chunk.offset && end <= r.offset + r.len).count()
            };
            assert!((0..chunks).all(|number| covered(number) == 1), "{size} {chunks}");
            let bytes: u64 = blocks.iter().flat_map(|(_, r)| r).map(|r| r.len).sum();
            assert_eq!(bytes, size * chunks);
        }
    }

    #[test]
    fn a_record_has_the_checksums_of_its_bytes() {
        let layout = Layout::new(ContainerId(9), "run", 1024);
        let (_, records) = layout.blocks(BLOCKS * 3).remove(0);
        let [record] = &records[..] else { panic!("{records:?}") };
        let bytes = [&layout.data[..], &layout.data[..], &layout.data[..]].concat();
        let sums = container::checksum::compute(ChecksumType::Crc32, 1024, &bytes);
        assert_eq!(record.checksum_data, sums);
    }
}
