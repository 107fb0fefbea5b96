//! `dfsg`: creates files.

use std::time::Instant;

use clap::{Args, ValueEnum};
use client::FinishOptions;
use config::Configuration;

use crate::FreonError;
use crate::args::{RunArgs, size};
use crate::content::Content;
use crate::fs::{FileSystem, RootArgs};
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};

/// Sync after each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum Sync {
    /// Nothing.
    None,
    /// The data is visible to readers; the same as HSYNC.
    Hflush,
    /// The data is durable and visible to readers.
    Hsync,
}

/// Create files with the same content. They are named `PREFIX/NUMBER` below the path, whose bucket
/// must exist.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 freon dfsg -n 10000 -t 16 -s 100KB --path ofs://om/vol1/bucket1 -p run1"
)]
pub struct Dfsg {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    root: RootArgs,
    /// Size of a file: 10240, 10KB, 4MB.
    #[arg(short = 's', long, default_value = "10KB", value_parser = size, value_name = "SIZE")]
    size: u64,
    /// Size of one write in bytes, followed by --sync.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..), value_name = "BYTES")]
    copy_buffer: u64,
    /// Sync after each write.
    #[arg(long, value_enum, ignore_case = true, default_value = "NONE")]
    sync: Sync,
}

struct Files {
    fs: FileSystem,
    prefix: String,
    content: Content,
    sync: Sync,
    /// Size of one write in bytes.
    write: usize,
}

/// Runs the generator.
pub(crate) async fn run(args: Dfsg, conf: &Configuration) -> Result<Report, FreonError> {
    let fs = FileSystem::open(args.run.clients, &args.root.root, conf).await?;
    let prefix = prefix(&args.run.prefix);
    let files = Files {
        fs,
        prefix: prefix.clone(),
        content: Content::new(args.size),
        sync: args.sync,
        write: usize::try_from(args.copy_buffer).unwrap_or(usize::MAX),
    };
    run_generator(&args.run, &prefix, files).await
}

impl Files {
    async fn write_synced(&self, number: u64, name: &str) -> Result<(), FreonError> {
        let client = self.fs.target.client(number);
        let mut writer = client.create_key(self.fs.file(name)).await?;
        for mut piece in self.content.pieces() {
            while !piece.is_empty() {
                writer.write(piece.split_to(self.write.min(piece.len()))).await?;
                writer.hsync().await?;
            }
        }
        writer.finish(FinishOptions::default()).await?;
        Ok(())
    }
}

impl Generator for Files {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let name = format!("{}/{number}", self.prefix);
        let began = Instant::now();
        match self.sync {
            Sync::None => self.fs.write(number, &name, &self.content).await?,
            Sync::Hflush | Sync::Hsync => self.write_synced(number, &name).await?,
        }
        tally.timed("file-create", began);
        tally.bytes += self.content.size();
        Ok(())
    }
}
