//! `dtsg`: creates trees of directories with files.

use std::time::Instant;

use clap::Args;
use config::Configuration;

use crate::FreonError;
use crate::args::{RunArgs, size};
use crate::content::Content;
use crate::fs::{FileSystem, RootArgs};
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::tree::TreeArgs;

/// Maximum number of directories of one tree: --span to the power of --depth soon exceeds any
/// cluster.
const MAX_DIRECTORIES: u64 = 1_000_000;

/// Create trees of directories with files in each: a test creates one tree, in which every
/// directory above the last level has --span directories. Names are random. The bucket must exist.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 freon dtsg -n 1 -t 1 -d 3 -s 3 -c 2 -g 4KB -r o3fs://bucket1.vol1/tree"
)]
pub struct Dtsg {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    root: RootArgs,
    #[command(flatten)]
    tree: TreeArgs,
    /// Number of files in each directory.
    #[arg(short = 'c', long, visible_alias = "fileCount", default_value_t = 2, value_name = "N")]
    file_count: u32,
    /// Size of a file: 4096, 4KB, 4MB.
    #[arg(short = 'g', long, visible_alias = "fileSize", default_value = "4KB", value_parser = size, value_name = "SIZE")]
    file_size: u64,
}

struct Trees {
    fs: FileSystem,
    tree: TreeArgs,
    files: u32,
    content: Content,
}

/// Number of directories of one tree.
fn directories(tree: &TreeArgs) -> u64 {
    let level = |depth: u32| u64::from(tree.span).checked_pow(depth).unwrap_or(u64::MAX);
    (0..tree.depth).map(level).fold(0, u64::saturating_add)
}

/// Runs the generator.
pub(crate) async fn run(args: Dtsg, conf: &Configuration) -> Result<Report, FreonError> {
    if args.tree.span == 0 {
        return Err(FreonError::Usage("--span must be at least 1".into()));
    }
    let count = directories(&args.tree);
    if count > MAX_DIRECTORIES {
        return Err(FreonError::Usage(format!(
            "--depth {} and --span {} make a tree of more than {MAX_DIRECTORIES} directories",
            args.tree.depth, args.tree.span
        )));
    }
    let fs = FileSystem::open(args.run.clients, &args.root.root, conf).await?;
    let content = Content::new(args.file_size);
    let trees = Trees { fs, tree: args.tree, files: args.file_count, content };
    run_generator(&args.run, &prefix(&args.run.prefix), trees).await
}

impl Trees {
    /// Creates a directory and its files.
    async fn fill(&self, test: u64, name: &str, tally: &mut Tally) -> Result<(), FreonError> {
        self.fs.make(test, name).await?;
        for _ in 0..self.files {
            let file = format!("{name}/{}", self.tree.name());
            let began = Instant::now();
            self.fs.write(test, &file, &self.content).await?;
            tally.timed("file-create", began);
            tally.bytes += self.content.size();
        }
        Ok(())
    }
}

impl Generator for Trees {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let mut to_make = vec![(self.tree.name(), 1)];
        while let Some((name, depth)) = to_make.pop() {
            self.fill(number, &name, tally).await?;
            tally.entries += 1;
            if depth < self.tree.depth {
                let below = (0..self.tree.span).map(|_| format!("{name}/{}", self.tree.name()));
                to_make.extend(below.map(|name| (name, depth + 1)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_the_span_to_the_power_of_each_level() {
        let tree = |depth, span| TreeArgs { depth, span, name_len: 10 };
        assert_eq!(directories(&tree(1, 10)), 1);
        assert_eq!(directories(&tree(3, 3)), 1 + 3 + 9);
        assert_eq!(directories(&tree(5, 1)), 5);
        assert_eq!(directories(&tree(255, u32::MAX)), u64::MAX);
    }
}
