//! `o3 admin container create`.

use clap::Args;
use config::Configuration;
use types::ReplicationConfig;

use crate::admin::scm_client::ScmServiceArgs;
use crate::replication::ReplicationArgs;
use crate::{ShellError, output};

/// Create a container in addition to those that SCM creates. By default STAND_ALONE with one
/// replica.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 admin container create -t EC -r rs-3-2-1024k")]
pub struct Create {
    /// Owner of the container.
    #[arg(short = 'o', long, default_value = "OZONE", value_name = "NAME")]
    owner: String,
    #[command(flatten)]
    replication: ReplicationArgs,
    #[command(flatten)]
    scm: ScmServiceArgs,
}

/// The default replication of a container.
const DEFAULT: ReplicationConfig = ReplicationConfig::StandAlone(types::ReplicationFactor::One);

/// Runs the command.
pub(crate) async fn run(args: Create, conf: &Configuration) -> Result<(), ShellError> {
    let config = args.replication.config()?.unwrap_or(DEFAULT);
    let id = args.scm.client(conf)?.create_container(config, &args.owner).await?;
    output::line(format!("Container {id} is created with replication config {}.", shown(config)))
}

/// A replication in the format of Ozone's tool.
fn shown(config: ReplicationConfig) -> String {
    match config {
        ReplicationConfig::StandAlone(factor) => format!("STANDALONE/{factor}"),
        ReplicationConfig::Ratis(factor) => format!("RATIS/{factor}"),
        ReplicationConfig::Ec(config) => format!("EC{{{config}}}"),
    }
}
