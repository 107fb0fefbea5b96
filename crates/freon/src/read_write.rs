//! Common code of `obrwk` and `obrwf`: tasks that list one path while others write to another one.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use rand::distr::{Alphanumeric, SampleString};
use tokio::task::JoinSet;

use crate::FreonError;
use crate::args::size;
use crate::content::Content;
use crate::runner::Tally;

/// Timer of the written keys or files, as in Ozone.
const WRITES: &str = "om-bucket-read-write-ops";
/// Timer of the listings.
const READS: &str = "om-bucket-read-ops";

/// Flags of both generators.
#[derive(Debug, Clone, Args)]
pub struct ReadWriteArgs {
    /// Size of a key or file: 256B, 10KB, 4MB.
    #[arg(short = 'g', long, default_value = "256B", value_parser = size, value_name = "SIZE")]
    pub size: u64,
    /// Length of the random names.
    #[arg(short = 'l', long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=255), value_name = "N")]
    pub name_len: u16,
    /// Number of tasks of each test, readers and writers.
    #[arg(short = 'c', long, default_value_t = 100, value_name = "N")]
    pub total_thread_count: usize,
    /// Percentage of the tasks that read; the others write.
    #[arg(short = 'T', long, default_value_t = 90, value_parser = clap::value_parser!(u8).range(0..=100), value_name = "PERCENT")]
    pub read_thread_percentage: u8,
    /// Number of listings per reading task.
    #[arg(short = 'R', long, default_value_t = 50, value_name = "N")]
    pub num_of_read_operations: u32,
    /// Number of rounds per writing task.
    #[arg(short = 'W', long, default_value_t = 10, value_name = "N")]
    pub num_of_write_operations: u32,
}

/// The bucket or directory of the keys or files.
pub(crate) trait ReadWriteTarget: Send + Sync + 'static {
    /// Creates a directory, if the target needs it.
    fn make(&self, directory: &str) -> impl Future<Output = Result<(), FreonError>> + Send;

    /// Writes a key or file.
    fn write(
        &self,
        test: u64,
        name: String,
        content: &Content,
    ) -> impl Future<Output = Result<(), FreonError>> + Send;

    /// Number of entries of a directory in which `count` were created.
    fn list(
        &self,
        test: u64,
        directory: &str,
        made: u32,
    ) -> impl Future<Output = Result<u64, FreonError>> + Send;
}

/// Numbers of keys to write before the listings, and in each round of a writing task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) for_read: u32,
    pub(crate) for_write: u32,
}

/// A run of one of the generators.
pub(crate) struct ReadWrite<P> {
    target: P,
    args: ReadWriteArgs,
    counts: Counts,
    content: Content,
}

impl<P: ReadWriteTarget> ReadWrite<P> {
    pub(crate) fn new(target: P, args: ReadWriteArgs, counts: Counts) -> Self {
        let content = Content::new(args.size);
        Self { target, args, counts, content }
    }

    /// Runs one test: writes the keys to list, lists them, and then writes more.
    pub(crate) async fn test(self: &Arc<Self>, tally: &mut Tally) -> Result<(), FreonError> {
        let total = self.args.total_thread_count;
        let readers = total.saturating_mul(self.args.read_thread_percentage.into()) / 100;
        self.target.make("readPath").await?;
        self.fill(0, "readPath", self.counts.for_read, tally).await?;
        self.at_once(readers, tally, |run, task, mut tally| async move {
            for _ in 0..run.args.num_of_read_operations {
                let began = Instant::now();
                tally.entries += run.target.list(task, "readPath", run.counts.for_read).await?;
                tally.timed(READS, began);
            }
            Ok(tally)
        })
        .await?;
        self.target.make("writePath").await?;
        self.at_once(total - readers, tally, |run, task, mut tally| async move {
            for _ in 0..run.args.num_of_write_operations {
                run.fill(task, "writePath", run.counts.for_write, &mut tally).await?;
            }
            Ok(tally)
        })
        .await
    }

    /// Runs tasks concurrently and merges their measurements. The first failure cancels them all.
    async fn at_once<F, Fut>(
        self: &Arc<Self>,
        tasks: usize,
        tally: &mut Tally,
        task: F,
    ) -> Result<(), FreonError>
    where
        F: Fn(Arc<Self>, u64, Tally) -> Fut,
        Fut: Future<Output = Result<Tally, FreonError>> + Send + 'static,
    {
        let mut running = JoinSet::new();
        for number in 0..tasks as u64 {
            running.spawn(task(self.clone(), number, Tally::default()));
        }
        while let Some(ended) = running.join_next().await {
            let ended = ended.map_err(|e| FreonError::Usage(format!("a task failed: {e}")))?;
            tally.merge(ended?);
        }
        Ok(())
    }

    /// Writes keys or files with random names.
    async fn fill(
        &self,
        test: u64,
        directory: &str,
        count: u32,
        tally: &mut Tally,
    ) -> Result<(), FreonError> {
        for _ in 0..count {
            let name = Alphanumeric.sample_string(&mut rand::rng(), self.args.name_len.into());
            let began = Instant::now();
            self.target.write(test, format!("{directory}/{name}"), &self.content).await?;
            tally.timed(WRITES, began);
            tally.bytes += self.content.size();
        }
        Ok(())
    }
}
