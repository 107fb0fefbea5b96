//! `o3 sh key`.

mod cat;
mod cp;
mod delete;
mod get;
mod info;
mod list;
mod progress;
mod put;
mod rename;
mod rewrite;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;
use crate::acl::{self, AclCommand};

/// Commands for keys.
#[derive(Debug, Clone, Subcommand)]
pub enum KeyCommand {
    /// Store a file as a key.
    Put(put::Put),
    /// Download a key to a file.
    Get(get::Get),
    /// Print a key.
    Cat(cat::Cat),
    /// Show a key.
    Info(info::Info),
    /// List keys of a bucket.
    #[command(visible_alias = "ls")]
    List(list::List),
    /// Rename a key within its bucket.
    #[command(visible_alias = "mv")]
    Rename(rename::Rename),
    /// Copy a key within its bucket.
    Cp(cp::Cp),
    /// Rewrite a key with another replication.
    Rewrite(rewrite::Rewrite),
    /// Delete a key.
    Delete(delete::Delete),
    /// Its ACL.
    #[command(flatten)]
    Acl(AclCommand),
}

/// Runs a command.
pub(crate) async fn run(command: KeyCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        KeyCommand::Put(args) => put::run(args, conf).await,
        KeyCommand::Get(args) => get::run(args, conf).await,
        KeyCommand::Cat(args) => cat::run(args, conf).await,
        KeyCommand::Info(args) => info::run(args, conf).await,
        KeyCommand::List(args) => list::run(args, conf).await,
        KeyCommand::Rename(args) => rename::run(args, conf).await,
        KeyCommand::Cp(args) => cp::run(args, conf).await,
        KeyCommand::Rewrite(args) => rewrite::run(args, conf).await,
        KeyCommand::Delete(args) => delete::run(args, conf).await,
        KeyCommand::Acl(command) => acl::run(command, acl::Level::Key, conf).await,
    }
}
