//! `ddsg`: creates nested directories.

use std::time::Instant;

use clap::Args;
use config::Configuration;

use crate::FreonError;
use crate::args::RunArgs;
use crate::fs::{FileSystem, RootArgs};
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::tree::TreeArgs;

/// Create nested directories: each test creates a path of --depth directories, and --span
/// directories in the last one. Names are random. The bucket must exist.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 freon ddsg -n 100 -t 8 -d 5 -s 10 -r o3fs://bucket1.vol1/dirs"
)]
pub struct Ddsg {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    root: RootArgs,
    #[command(flatten)]
    tree: TreeArgs,
}

struct Directories {
    fs: FileSystem,
    tree: TreeArgs,
}

/// Runs the generator.
pub(crate) async fn run(args: Ddsg, conf: &Configuration) -> Result<Report, FreonError> {
    let fs = FileSystem::open(args.run.clients, &args.root.root, conf).await?;
    let directories = Directories { fs, tree: args.tree };
    run_generator(&args.run, &prefix(&args.run.prefix), directories).await
}

impl Generator for Directories {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let names: Vec<String> = (0..self.tree.depth).map(|_| self.tree.name()).collect();
        let leaf = names.join("/");
        let began = Instant::now();
        self.fs.make(number, &leaf).await?;
        for child in 1..=self.tree.span {
            self.fs.make(number, &format!("{leaf}/{child}")).await?;
        }
        tally.timed("directory-create", began);
        Ok(())
    }
}
