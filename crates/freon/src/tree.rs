//! Arguments of directory trees, and their random names.

use clap::Args;
use rand::distr::{Alphanumeric, SampleString};

/// The shape of a tree.
#[derive(Debug, Clone, Args)]
pub struct TreeArgs {
    /// Depth of the tree.
    #[arg(short = 'd', long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=255), value_name = "N")]
    pub depth: u32,
    /// Number of sibling directories.
    #[arg(short = 's', long, default_value_t = 10, value_name = "N")]
    pub span: u32,
    /// Length of the random names.
    #[arg(short = 'l', long, visible_alias = "nameLen", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=255), value_name = "N")]
    pub name_len: u16,
}

impl TreeArgs {
    /// A unique name of a directory.
    pub(crate) fn name(&self) -> String {
        Alphanumeric.sample_string(&mut rand::rng(), self.name_len.into())
    }
}
