//! `dcv`: reads chunks that dcg wrote and compares them.

use std::time::Instant;

use clap::Args;
use config::Configuration;

use crate::FreonError;
use crate::args::RunArgs;
use crate::chunks::{Container, Layout, MAX_CHUNK_BYTES};
use crate::digest::Digest;
use crate::report::Report;
use crate::runner::{Generator, Tally, run_generator};

/// Read chunks that `dcg` wrote with the same prefix and size, from the DataNodes in turn, and
/// compare the digest of each with the first one's.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon dcv -n 10000 -t 16 -s 4096 -p run1")]
pub struct Dcv {
    #[command(flatten)]
    run: RunArgs,
    /// Size of a chunk in bytes.
    #[arg(short = 's', long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=MAX_CHUNK_BYTES), value_name = "BYTES")]
    size: u64,
}

struct Validator {
    container: Container,
    layout: Layout,
    first: Digest,
}

/// Runs the generator.
pub(crate) async fn run(args: Dcv, conf: &Configuration) -> Result<Report, FreonError> {
    let prefix = args.run.named_prefix("chunks to validate")?;
    let container = Container::to_read(prefix, args.run.clients, conf).await?;
    let layout = Layout::new(container.id, prefix, args.size);
    let (node, block) = (container.node(0), layout.block(0));
    let first = container.client(0).read_chunk(node, block, layout.chunk(0)).await?;
    let validator = Validator { first: Digest::of_bytes(&first), container, layout };
    run_generator(&args.run, prefix, validator).await
}

impl Generator for Validator {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let (block, chunk) = (self.layout.block(number), self.layout.chunk(number));
        let name = chunk.chunk_name.clone();
        let node = self.container.node(number);
        let began = Instant::now();
        let bytes = self.container.client(number).read_chunk(node, block, chunk).await?;
        let found = Digest::of_bytes(&bytes);
        found.compare(&self.first, &name)?;
        tally.timed("chunk-validate", began);
        tally.bytes += found.bytes();
        Ok(())
    }
}
