//! Options that every noun has.

use clap::{Args, Subcommand};

/// The commands of a noun, with their common options.
#[derive(Debug, Clone, Args)]
pub struct Noun<C: Subcommand> {
    /// More verbose output. Show the causes of errors.
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: C,
}
