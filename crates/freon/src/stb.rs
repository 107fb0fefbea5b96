//! `stb`: SCM allocates blocks or containers.

use std::time::Instant;

use clap::{Args, ValueEnum};
use client::{ScmBlockClient, ScmClient};
use config::Configuration;
use types::ReplicationConfig;

use crate::FreonError;
use crate::args::{ReplicationArgs, RunArgs, size};
use crate::report::Report;
use crate::runner::{Generator, Tally, run_generator};

/// Owner of the allocations, as in Ozone.
const OWNER: &str = "STB";

/// The operation of SCM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Benchmark {
    /// Allocate blocks.
    #[value(name = "AllocateBlocks")]
    AllocateBlocks,
    /// Create containers.
    #[value(name = "AllocateContainers")]
    AllocateContainers,
}

/// Let SCM allocate blocks or containers, and measure each request. It uses the DataNodes of a
/// running cluster. Blocks cost nothing; containers are not deleted, so use a test cluster.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    o3 freon stb --benchmark AllocateBlocks --num-blocks 100000 --num-threads 16\n  \
    o3 freon stb --benchmark AllocateContainers --num-containers 100")]
pub struct Stb {
    /// The operation of SCM.
    #[arg(long, value_enum, ignore_case = true)]
    benchmark: Benchmark,
    /// Number of blocks.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    num_blocks: u64,
    /// Size of a block: 4096, 4KB, 256MB.
    #[arg(long, default_value = "4096", value_parser = size, value_name = "SIZE")]
    block_size: u64,
    /// Number of containers.
    #[arg(long, default_value_t = 100, value_name = "N")]
    num_containers: u64,
    /// Number of concurrent requests.
    #[arg(long, default_value_t = 4, value_name = "N")]
    num_threads: usize,
    #[command(flatten)]
    replication: ReplicationArgs,
    /// Continue after a failed request, and fail at the end.
    #[arg(short = 'f', long)]
    fail_at_end: bool,
    /// Process id of a server whose CPU time is measured; may be repeated or comma-separated.
    #[arg(long = "server-pid", value_delimiter = ',', value_name = "PID")]
    server_pids: Vec<u32>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

enum Scm {
    Blocks { client: ScmBlockClient, size: u64, replication: ReplicationConfig },
    Containers { client: ScmClient, replication: ReplicationConfig },
}

/// Runs the generator.
pub(crate) async fn run(args: Stb, conf: &Configuration) -> Result<Report, FreonError> {
    if args.num_threads == 0 {
        return Err(FreonError::Usage("--num-threads must be at least 1".into()));
    }
    let replication = args.replication.or_three()?;
    let (scm, number_of_tests) = match args.benchmark {
        Benchmark::AllocateBlocks => {
            let client = ScmBlockClient::connect(conf);
            (Scm::Blocks { client, size: args.block_size, replication }, args.num_blocks)
        }
        Benchmark::AllocateContainers => {
            let client = ScmClient::connect(conf);
            (Scm::Containers { client, replication }, args.num_containers)
        }
    };
    let run = RunArgs {
        number_of_tests,
        threads: args.num_threads,
        duration: None,
        prefix: OWNER.to_owned(),
        fail_at_end: args.fail_at_end,
        clients: 1,
        server_pids: args.server_pids,
        json: args.json,
    };
    run_generator(&run, OWNER, scm).await
}

impl Generator for Scm {
    async fn test(&self, _: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let began = Instant::now();
        match self {
            Self::Blocks { client, size, replication } => {
                tally.entries += client.allocate(replication, 1, *size, OWNER).await?.len() as u64;
                tally.timed("allocate-block", began);
            }
            Self::Containers { client, replication } => {
                client.create_container(*replication, OWNER).await?;
                tally.timed("allocate-container", began);
            }
        }
        Ok(())
    }
}
