//! `o3 repair`: changes to the databases of stopped servers, with Ozone's commands. A database that
//! a server has open is locked, so that none of these commands can access it.

mod compact;
mod fso_tree;
mod inapplicable;
mod snapshot_chain;
mod update_transaction;

use std::io::{BufRead, Write, stderr, stdin};

use clap::{Args, Subcommand};

use crate::{Noun, ShellError};

use fso_tree::FsoTree;
use inapplicable::Inapplicable;
use snapshot_chain::Chain;
use update_transaction::{OfOm, OfScm, UpdateTransaction};

/// Commands for the data of each server.
#[derive(Debug, Clone, Subcommand)]
pub enum RepairCommand {
    /// Any database: compact.
    Ldb(Noun<LdbCommand>),
    /// OM's: fso-tree, snapshot chain, update-transaction.
    Om(Noun<OmCommand>),
    /// SCM's: update-transaction.
    Scm(Noun<ScmCommand>),
    /// DataNodes': nothing of Ozone's applies here.
    Datanode(Noun<DatanodeCommand>),
}

/// Commands for any database.
#[derive(Debug, Clone, Subcommand)]
pub enum LdbCommand {
    /// Compact a table of a database whose server is stopped.
    Compact(compact::Compact),
}

/// Commands for OM's data.
#[derive(Debug, Clone, Subcommand)]
pub enum OmCommand {
    /// Find and delete entries of FILE_SYSTEM_OPTIMIZED buckets whose parent directory is missing.
    /// OM must be stopped.
    FsoTree(FsoTree),
    /// Snapshots: chain.
    Snapshot(Noun<SnapshotCommand>),
    /// Set the position in the Raft log recorded in om.db. OM must be stopped.
    UpdateTransaction(UpdateTransaction),
    /// Does not apply: a log entry that cannot be applied does not stop an OM here.
    #[command(visible_alias = "srt")]
    SkipRatisTransaction(Inapplicable),
}

/// Commands for OM's snapshots.
#[derive(Debug, Clone, Subcommand)]
pub enum SnapshotCommand {
    /// Set the previous snapshots recorded in a snapshot. OM must be stopped.
    Chain(Chain),
}

/// Commands for SCM's data.
#[derive(Debug, Clone, Subcommand)]
pub enum ScmCommand {
    /// Set the position in the Raft log recorded in scm.db. SCM must be stopped.
    UpdateTransaction(UpdateTransaction),
    /// Does not apply: this SCM has no certificates.
    Cert(Inapplicable),
}

/// Commands for DataNodes' data, which do not apply.
#[derive(Debug, Clone, Subcommand)]
pub enum DatanodeCommand {
    /// Does not apply: all containers have schema V3 here.
    UpgradeContainerSchema(Inapplicable),
}

impl RepairCommand {
    /// Returns `true` if the causes of an error are to be printed.
    pub(crate) fn is_verbose(&self) -> bool {
        match self {
            Self::Ldb(noun) => noun.verbose,
            Self::Om(noun) => noun.verbose,
            Self::Scm(noun) => noun.verbose,
            Self::Datanode(noun) => noun.verbose,
        }
    }
}

/// Runs a command.
pub(crate) fn run(command: RepairCommand) -> Result<(), ShellError> {
    match command {
        RepairCommand::Ldb(Noun { command: LdbCommand::Compact(args), .. }) => compact::run(&args),
        RepairCommand::Om(noun) => match noun.command {
            OmCommand::FsoTree(args) => fso_tree::run(&args),
            OmCommand::Snapshot(Noun { command: SnapshotCommand::Chain(args), .. }) => {
                snapshot_chain::run(&args)
            }
            OmCommand::UpdateTransaction(args) => update_transaction::run::<OfOm>(&args),
            OmCommand::SkipRatisTransaction(_) => Err(inapplicable::refuse(
                "there is no Ratis log: an entry that OM cannot apply is refused the same way on every OM and \
                 passed over (docs/internals/log-entries.md)",
            )),
        },
        RepairCommand::Scm(noun) => match noun.command {
            ScmCommand::UpdateTransaction(args) => update_transaction::run::<OfScm>(&args),
            ScmCommand::Cert(_) => Err(inapplicable::refuse("this SCM issues no certificates")),
        },
        RepairCommand::Datanode(_) => {
            Err(inapplicable::refuse("containers of DataNodes always have schema V3"))
        }
    }
}

/// Precautions of a repair.
#[derive(Debug, Clone, Args)]
struct Care {
    /// Print the changes without making them.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation. Ozone's option also skips the check for a running server, which
    /// the lock of a database does not allow here.
    #[arg(long)]
    force: bool,
}

impl Care {
    /// Asks for confirmation; `true` if changes are allowed.
    ///
    /// # Errors
    /// If the answer is no, or there is no terminal.
    fn confirm(&self, what: &str) -> Result<bool, ShellError> {
        if self.dry_run || self.force {
            return Ok(!self.dry_run);
        }
        eprint!("ATTENTION: {what} Its server must be stopped. Do you want to continue (y/N)? ");
        let failed = |e| ShellError::local("standard input")(e);
        stderr().flush().map_err(failed)?;
        let mut answer = String::new();
        stdin().lock().read_line(&mut answer).map_err(failed)?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(true),
            _ => Err(ShellError::Refused("Aborting command.".to_owned())),
        }
    }

    /// Prints a line, marked in a dry run.
    fn say(&self, text: &str) -> Result<(), ShellError> {
        let mark = if self.dry_run { "[dry run] " } else { "" };
        crate::output::line(format!("{mark}{text}"))
    }
}
