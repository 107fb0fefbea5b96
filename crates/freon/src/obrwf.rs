//! `obrwf`: many tasks list and write files.

use std::sync::Arc;

use clap::Args;
use config::Configuration;

use crate::FreonError;
use crate::args::RunArgs;
use crate::content::Content;
use crate::fs::{FileSystem, FsPath};
use crate::read_write::{Counts, ReadWrite, ReadWriteArgs, ReadWriteTarget};
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};

/// Write files, list their directory from many tasks, and write more from others, to measure how
/// requests to one directory affect each other. Each test does all of it once. The bucket must
/// exist.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon obrwf -n 1 -t 1 -P o3fs://bucket1.vol1/dir1 -r 1000")]
pub struct Obrwf {
    #[command(flatten)]
    run: RunArgs,
    /// Directory to work in: o3fs://BUCKET.VOLUME/DIRECTORY or ofs://OM/VOLUME/BUCKET/DIRECTORY.
    #[arg(short = 'P', long, default_value = "o3fs://bucket1.vol1/dir1/dir2", value_name = "PATH")]
    root_path: FsPath,
    #[command(flatten)]
    read_write: ReadWriteArgs,
    /// Number of files to list.
    #[arg(short = 'r', long, default_value_t = 100, value_name = "N")]
    file_count_for_read: u32,
    /// Number of files that a task writes per round.
    #[arg(short = 'w', long, default_value_t = 10, value_name = "N")]
    file_count_for_write: u32,
}

/// A directory with the files of the run.
struct Directory(FileSystem);

impl ReadWriteTarget for Directory {
    async fn make(&self, directory: &str) -> Result<(), FreonError> {
        self.0.make(0, directory).await
    }

    async fn write(&self, test: u64, name: String, content: &Content) -> Result<(), FreonError> {
        self.0.write(test, &name, content).await
    }

    async fn list(&self, test: u64, directory: &str, _: u32) -> Result<u64, FreonError> {
        self.0.count(test, directory).await
    }
}

/// Runs the generator.
pub(crate) async fn run(args: Obrwf, conf: &Configuration) -> Result<Report, FreonError> {
    let target = Directory(FileSystem::open(args.run.clients, &args.root_path, conf).await?);
    let counts =
        Counts { for_read: args.file_count_for_read, for_write: args.file_count_for_write };
    let generator = Arc::new(ReadWrite::new(target, args.read_write, counts));
    run_generator(&args.run, &prefix(&args.run.prefix), generator).await
}

impl Generator for Arc<ReadWrite<Directory>> {
    async fn test(&self, _: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        ReadWrite::test(self, tally).await
    }
}
