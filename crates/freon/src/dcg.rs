//! `dcg`: write chunks to DataNodes.

use std::time::{Duration, Instant};

use clap::Args;
use config::Configuration;
use futures::future::{join_all, try_join_all};
use types::ReplicationConfig;

use crate::FreonError;
use crate::args::{ReplicationArgs, RunArgs};
use crate::chunks::{BLOCKS, Container, Layout, MAX_CHUNK_BYTES, MAX_CHUNKS};
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};

/// Timeout at the end of a run for pipeline members that lag.
const MEMBERS_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Write chunks to DataNodes, without OM. They are written into 20 blocks of a container that SCM
/// creates for the prefix, on a pipeline of its choice; at the end the blocks are put, so that dcv
/// can read them. The space is not reclaimed: the container belongs to no key.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon dcg -n 10000 -t 16 -s 4096 -p run1")]
pub struct Dcg {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    replication: ReplicationArgs,
    /// Size of a chunk in bytes.
    #[arg(short = 's', long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=MAX_CHUNK_BYTES), value_name = "BYTES")]
    size: u64,
}

struct Chunks {
    container: Container,
    layout: Layout,
}

/// Runs the generator.
pub(crate) async fn run(args: Dcg, conf: &Configuration) -> Result<Report, FreonError> {
    if args.run.number_of_tests > MAX_CHUNKS {
        return Err(FreonError::Usage(format!("-n must be at most {MAX_CHUNKS}")));
    }
    let replication = args.replication.or_three()?;
    if matches!(replication, ReplicationConfig::Ec(_)) {
        return Err(FreonError::Usage("chunks are written to RATIS pipelines only".into()));
    }
    let prefix = prefix(&args.run.prefix);
    let container = Container::to_write(&prefix, replication, args.run.clients, conf).await?;
    let layout = Layout::new(container.id, &prefix, args.size);
    let chunks = std::sync::Arc::new(Chunks { container, layout });
    let report = run_generator(&args.run, &prefix, chunks.clone()).await?;
    if report.failures == 0 {
        let written = report.successes.min(args.run.number_of_tests);
        chunks.put(written).await?;
        chunks.wait_for_members(written).await;
    }
    Ok(report)
}

impl Chunks {
    /// Puts the blocks, so that the first chunks are readable.
    async fn put(&self, count: u64) -> Result<(), FreonError> {
        let (client, pipeline) = (self.container.client(0), &self.container.pipeline);
        let blocks = self.layout.blocks(count).into_iter();
        let puts = blocks.map(|(block, chunks)| client.put_block(pipeline, block, chunks));
        try_join_all(puts).await?;
        Ok(())
    }

    /// Waits until each member of the pipeline has the blocks: a put needs only a majority, and
    /// `dcv` reads from each member. For an unreachable member it waits [`MEMBERS_TIMEOUT`].
    async fn wait_for_members(&self, count: u64) {
        let members = 0..self.container.pipeline.members.len() as u64;
        let waits = members.map(|member| async move {
            // The last chunk of each block.
            for number in count.saturating_sub(BLOCKS)..count {
                self.wait_for_chunk(member, number).await;
            }
        });
        if tokio::time::timeout(MEMBERS_TIMEOUT, join_all(waits)).await.is_err() {
            tracing::warn!(container = %self.container.id, "some members of the pipeline lack chunks");
        }
    }

    async fn wait_for_chunk(&self, member: u64, number: u64) {
        let (block, mut chunk) = (self.layout.block(number), self.layout.chunk(number));
        chunk.len = 1;
        let (client, node) = (self.container.client(member), self.container.node(member));
        while client.read_chunk(node, block, chunk.clone()).await.is_err() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

impl Generator for std::sync::Arc<Chunks> {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let (client, pipeline) = (self.container.client(number), &self.container.pipeline);
        let (block, chunk) = (self.layout.block(number), self.layout.chunk(number));
        let began = Instant::now();
        client.write_chunk(pipeline, block, chunk, self.layout.data.clone()).await?;
        tally.timed("chunk-write", began);
        tally.bytes += self.layout.data.len() as u64;
        Ok(())
    }
}
