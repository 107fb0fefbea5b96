//! `hg`: writes and syncs of one file, like a log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use clap::Args;
use client::{FinishOptions, KeyWriter};
use config::Configuration;
use tokio::sync::Mutex;

use crate::FreonError;
use crate::args::RunArgs;
use crate::fs::{FileSystem, FsPath};
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};

/// Write transactions to one file and sync it from many tasks, as HBase does with its log: a test
/// writes a transaction and returns when the file is durable up to its end, by its own sync or by
/// one that another test started after it. The servers must have ozone.fs.hsync.enabled and
/// ozone.hbase.enhancements.allowed; the bucket must exist.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon hg -n 1000 -t 5 --path o3fs://bucket1.vol1/log")]
pub struct Hg {
    #[command(flatten)]
    run: RunArgs,
    /// Directory to work in: o3fs://BUCKET.VOLUME/DIRECTORY or ofs://OM/VOLUME/BUCKET/DIRECTORY.
    #[arg(long, default_value = "o3fs://bucket1.vol1", value_name = "PATH")]
    path: FsPath,
    /// Size of each write in bytes.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=(4 << 20)), value_name = "BYTES")]
    bytes_per_write: u32,
    /// Number of writes of each transaction.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    writes_per_transaction: u32,
}

struct Log {
    writer: Mutex<Option<KeyWriter>>,
    /// Numbers of written and of durable transactions.
    written: AtomicU64,
    synced: AtomicU64,
    write: Bytes,
    writes: u32,
}

/// Runs the generator.
pub(crate) async fn run(args: Hg, conf: &Configuration) -> Result<Report, FreonError> {
    args.run.without_clients()?;
    let fs = FileSystem::open(1, &args.path, conf).await?;
    let prefix = prefix(&args.run.prefix);
    let writer = fs.target.client(0).create_key(fs.file(&format!("{prefix}/0"))).await?;
    let log = std::sync::Arc::new(Log {
        writer: Mutex::new(Some(writer)),
        written: AtomicU64::new(0),
        synced: AtomicU64::new(0),
        write: Bytes::from(vec![b'w'; args.bytes_per_write as usize]),
        writes: args.writes_per_transaction,
    });
    let report = run_generator(&args.run, &prefix, log.clone()).await?;
    if let Some(writer) = log.writer.lock().await.take() {
        writer.finish(FinishOptions::default()).await?;
    }
    Ok(report)
}

impl Log {
    /// Writes a transaction and returns its number.
    async fn append(&self, tally: &mut Tally) -> Result<u64, FreonError> {
        let mut writer = self.writer.lock().await;
        let writer = open(&mut writer)?;
        for _ in 0..self.writes {
            writer.write(self.write.clone()).await?;
            tally.bytes += self.write.len() as u64;
        }
        Ok(self.written.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// The writer, which exists until the end of the run.
fn open(writer: &mut Option<KeyWriter>) -> Result<&mut KeyWriter, FreonError> {
    writer.as_mut().ok_or_else(|| FreonError::Usage("the file is closed".into()))
}

impl Generator for std::sync::Arc<Log> {
    async fn test(&self, _: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let transaction = self.append(tally).await?;
        let began = Instant::now();
        let mut writer = self.writer.lock().await;
        if self.synced.load(Ordering::Relaxed) < transaction {
            let upto = self.written.load(Ordering::Relaxed);
            open(&mut writer)?.hsync().await?;
            self.synced.store(upto, Ordering::Relaxed);
        }
        tally.timed("hsync-generator", began);
        Ok(())
    }
}
