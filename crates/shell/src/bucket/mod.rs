//! `o3 sh bucket`.

mod create;
pub(crate) mod delete;
mod info;
mod link;
mod list;
mod quota;
mod replication;
mod update;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;
use crate::acl::{self, AclCommand};

/// Commands for buckets.
#[derive(Debug, Clone, Subcommand)]
pub enum BucketCommand {
    /// Create a bucket.
    Create(create::Create),
    /// Show a bucket.
    Info(info::Info),
    /// List buckets of a volume.
    #[command(visible_alias = "ls")]
    List(list::List),
    /// Change the owner or storage policy of a bucket.
    Update(update::Update),
    /// Create a link to a bucket.
    Link(link::Link),
    /// Delete a bucket; with -r also its keys.
    Delete(delete::Delete),
    /// Set quotas of a bucket.
    Setquota(quota::SetQuota),
    /// Clear quotas of a bucket.
    Clrquota(quota::ClearQuota),
    /// Set the default replication of new keys.
    SetReplicationConfig(replication::SetReplicationConfig),
    /// Its ACL.
    #[command(flatten)]
    Acl(AclCommand),
}

/// Runs a command.
pub(crate) async fn run(command: BucketCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        BucketCommand::Create(args) => create::run(args, conf).await,
        BucketCommand::Info(args) => info::run(args, conf).await,
        BucketCommand::List(args) => list::run(args, conf).await,
        BucketCommand::Update(args) => update::run(args, conf).await,
        BucketCommand::Link(args) => link::run(args, conf).await,
        BucketCommand::Delete(args) => delete::run(args, conf).await,
        BucketCommand::Setquota(args) => quota::set(args, conf).await,
        BucketCommand::Clrquota(args) => quota::clear(args, conf).await,
        BucketCommand::SetReplicationConfig(args) => replication::run(args, conf).await,
        BucketCommand::Acl(command) => acl::run(command, acl::Level::Bucket, conf).await,
    }
}
