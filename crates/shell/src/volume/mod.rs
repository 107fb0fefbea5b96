//! `o3 sh volume`.

mod create;
mod delete;
mod info;
mod list;
mod quota;
mod update;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;
use crate::acl::{self, AclCommand};

/// Commands for volumes.
#[derive(Debug, Clone, Subcommand)]
pub enum VolumeCommand {
    /// Create a volume.
    Create(create::Create),
    /// Show a volume.
    Info(info::Info),
    /// List volumes.
    #[command(visible_alias = "ls")]
    List(list::List),
    /// Change the owner of a volume.
    Update(update::Update),
    /// Delete a volume; with -r also its buckets and keys.
    Delete(delete::Delete),
    /// Set quotas of a volume.
    Setquota(quota::SetQuota),
    /// Clear quotas of a volume.
    Clrquota(quota::ClearQuota),
    /// Its ACL.
    #[command(flatten)]
    Acl(AclCommand),
}

/// Runs a command.
pub(crate) async fn run(command: VolumeCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        VolumeCommand::Create(args) => create::run(args, conf).await,
        VolumeCommand::Info(args) => info::run(args, conf).await,
        VolumeCommand::List(args) => list::run(args, conf).await,
        VolumeCommand::Update(args) => update::run(args, conf).await,
        VolumeCommand::Delete(args) => delete::run(args, conf).await,
        VolumeCommand::Setquota(args) => quota::set(args, conf).await,
        VolumeCommand::Clrquota(args) => quota::clear(args, conf).await,
        VolumeCommand::Acl(command) => acl::run(command, acl::Level::Volume, conf).await,
    }
}
